package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReuseport(t *testing.T) {
	o := Reuseport{Options: tiny(), Families: []string{"v4", "v6"}, Members: []int{1, 3}}
	rows, err := RunReuseport(o)
	require.NoError(t, err)
	require.Len(t, rows, 2*2*3*2)
	for _, r := range rows {
		t.Logf("%+v", *r)
		assert.Positive(t, r.Mpps)
		assert.Positive(t, r.HashNs)
		assert.LessOrEqual(t, r.Low, r.Gain)
		assert.GreaterOrEqual(t, r.High, r.Gain)
		switch {
		case r.Hash == "eager":
			assert.Equal(t, 1.0, r.Gain)
			assert.Equal(t, 1.0, r.Computed)
		case r.Program == "cbpf" || r.Members == 1:
			assert.Zero(t, r.Computed, "%s, %d", r.Program, r.Members)
			assert.Equal(t, 1.0, r.Saved)
		default:
			assert.Equal(t, 1.0, r.Computed)
			assert.Zero(t, r.Saved)
		}
	}
}
