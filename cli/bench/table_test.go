package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tiny are options for which a benchmark takes a moment.
func tiny() Options { return Options{Seed: 1, Rounds: 3, Slice: 200 * time.Microsecond} }

func TestTable(t *testing.T) {
	o := Table{Options: tiny(), Families: []string{"v4", "v6"}, Flows: []int{1000}, Orders: []string{"shuffled", "zipf"}, Threads: []int{1, 2}, Changes: []int{1000}}
	rows, err := RunTable(o)
	require.NoError(t, err)
	for _, r := range rows {
		t.Logf("%+v", *r)
		assert.Positive(t, r.NsPerOp)
		assert.Positive(t, r.Ratio)
		assert.GreaterOrEqual(t, r.BytesPerFlow, 0.0) // so few are lost in what the heap does anyway
		assert.Contains(t, []string{"4k", "2M", "heap"}, r.Pages)
		assert.Contains(t, []string{"L2", "LLC", "DRAM"}, r.Tier)
		if r.Structure == "ehash" {
			assert.Equal(t, 1.0, r.Ratio)
		}
	}
}
