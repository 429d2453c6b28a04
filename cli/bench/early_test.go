package bench

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEarly(t *testing.T) {
	o := Early{Options: tiny(), Sockets: 10_000}
	for _, family := range []string{"v4", "v6"} {
		for _, proto := range []string{"udp", "tcp"} {
			for _, traffic := range []string{"connected", "unconnected", "forward"} {
				for _, sources := range []string{"many", "one"} {
					o.Cases = append(o.Cases, earlyCase{family, proto, traffic, sources, "L2", 1000})
				}
			}
		}
	}
	rows, err := RunEarly(o)
	require.NoError(t, err)
	require.Len(t, rows, len(o.Cases)*5)
	for _, r := range rows {
		t.Logf("%+v", *r)
		assert.Positive(t, r.Mpps)
		assert.LessOrEqual(t, r.Low, r.Gain)
		assert.GreaterOrEqual(t, r.High, r.Gain)
		if r.EarlyDemux == "off" {
			assert.Equal(t, 1.0, r.Gain)
		}
	}
}

func TestEarlyQuick(t *testing.T) {
	var o Early
	o.defaults()
	quick := len(o.Cases)
	assert.Less(t, quick, 60)
	assert.Contains(t, o.Cases, earlyCase{"v6", "udp", "connected", "many", "DRAM", 1})
	assert.Contains(t, o.Cases, earlyCase{"v4", "udp", "forward", "many", "DRAM", 1_000_000})
	o = Early{Options: Options{Full: true}}
	o.defaults()
	assert.Len(t, o.Cases, 2*3*2*3*2*3)
}

func TestCount(t *testing.T) {
	assert.Equal(t, "1", count(1).String())
	assert.Equal(t, "1k", count(1000).String())
	assert.Equal(t, "1M", count(1_000_000).String())
	b, err := json.Marshal(count(1000))
	require.NoError(t, err)
	assert.Equal(t, "1000", string(b))
}
