package bench

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestListen(t *testing.T) {
	o := Listen{Options: tiny(), Cases: []listenCase{{1, 1, []int{0}}, {1000, 1, []int{0, 10, 1000}}, {100, 100, []int{10}}}}
	rows, err := RunListen(o)
	require.NoError(t, err)
	ops := map[string]int{}
	for _, r := range rows {
		t.Logf("%+v", *r)
		assert.Positive(t, r.NsPerLookup)
		ops[r.Op]++
	}
	assert.Equal(t, map[string]int{"exact": 1 + 3 + 1, "wildcard": 1 + 3, "rule": 2 + 1, "miss": 2 + 3 + 1}, ops)
}
