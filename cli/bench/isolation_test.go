package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIsolation(t *testing.T) {
	o := Isolation{Options: tiny(), Victims: 64}
	for _, layout := range []string{"own", "shared", "growing"} {
		for _, op := range []string{"lookup", "pipeline", "insert", "vrf_delete"} {
			for _, vrfs := range []int{1, 3} {
				o.Cases = append(o.Cases, isolationCase{op: op, layout: layout, buckets: 1024, sockets: 8192, active: op == "lookup", vrfs: vrfs})
			}
		}
	}
	rows, err := RunIsolation(o)
	require.NoError(t, err)
	require.Len(t, rows, len(o.Cases))
	for _, r := range rows {
		t.Logf("%+v", *r)
		assert.Positive(t, r.Mops)
		assert.Positive(t, r.VsEmpty)
		switch r.Layout {
		case "own":
			assert.Zero(t, r.Chain)
		case "shared":
			assert.InDelta(t, 8, r.Chain, 0.01)
		default:
			assert.LessOrEqual(t, r.Chain, 1.0)
		}
	}
}

// TestIsolationDefaults: the quick rows hold those that targets name.
func TestIsolationDefaults(t *testing.T) {
	var o Isolation
	o.defaults()
	for _, op := range []string{"lookup", "pipeline"} {
		for _, layout := range []string{"own", "growing"} {
			assert.Contains(t, o.Cases, isolationCase{op: op, layout: layout, buckets: bucketsLarge, active: true, sockets: crowd, vrfs: 1})
			for _, vrfs := range []int{1, 10, 100, 1000} {
				assert.Contains(t, o.Cases, isolationCase{op: op, layout: layout, buckets: bucketsLarge, sockets: 1 << 20, vrfs: vrfs})
			}
		}
	}
	assert.Contains(t, o.Cases, isolationCase{op: "vrf_delete", layout: "growing", buckets: bucketsLarge, active: true, sockets: crowd, vrfs: 1})
	quick := len(o.Cases)
	o = Isolation{Options: Options{Full: true}}
	o.defaults()
	assert.Greater(t, len(o.Cases), quick)
}
