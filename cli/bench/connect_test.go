package bench

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnect(t *testing.T) {
	o := Connect{Options: tiny(), Threads: []int{1, 2}, Low: 40000, High: 40999}
	var d Connect
	d.defaults()
	o.Families, o.Occupancies = d.Families, d.Occupancies
	rows, err := RunConnect(o)
	require.NoError(t, err)
	assert.Len(t, rows, 2*7*2*6)
	for _, r := range rows {
		t.Logf("%+v", *r)
		assert.Positive(t, r.PerSecond)
		assert.Positive(t, r.NsCandidate)
		assert.LessOrEqual(t, r.P50, r.P99)
		if r.Method == "recomputed" && r.Hash == "jhash" {
			assert.Equal(t, 1.0, r.Speedup)
		}
		switch r.Occupancy.Word {
		case "none_free":
			assert.Equal(t, 1000.0, r.Candidates)
		case "":
			if r.Occupancy.Share == 0 && r.Threads == 1 {
				assert.InDelta(t, 1, r.Candidates, 0.3)
			}
		}
	}
}

func TestOccupancyJSON(t *testing.T) {
	b, err := json.Marshal([]Occupancy{{Share: 0.95}, {}, {Word: "churn"}})
	require.NoError(t, err)
	assert.JSONEq(t, `[0.95, 0, "churn"]`, string(b))
}
