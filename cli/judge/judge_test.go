package judge

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seeds are how many random scenarios `go test` takes; EDEMUX_SOAK sets a time
// instead, EDEMUX_SEED the first seed.
const (
	seeds          = 300
	framesPerTrial = 60
)

func TestRandom(t *testing.T) {
	needRoot(t)
	first := uint64(1)
	if s := os.Getenv("EDEMUX_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
		first = n
	}
	end := time.Time{}
	if s := os.Getenv("EDEMUX_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		require.NoError(t, err)
		end = time.Now().Add(d)
	}
	failed := 0
	n := uint64(0)
	for ; n < seeds && end.IsZero() || time.Now().Before(end); n++ {
		if !try(t, first+n) {
			if failed++; failed == 5 {
				break
			}
		}
	}
	t.Logf("seeds %d to %d: %d scenarios of %d frames", first, first+n-1, n, framesPerTrial)
}

// try runs the scenario of a seed, and shrinks and prints it when it fails.
func try(t *testing.T, seed uint64) bool {
	s := randomScenario(seed, framesPerTrial)
	d, err := Run(s)
	if err != nil {
		t.Errorf("%s: %v", s.Name, err)
		return false
	}
	if d == nil {
		return true
	}
	small, sd := shrink(s, 300)
	if sd == nil {
		t.Errorf("%s: step %d: %s:\n%s\n(it did not fail again)", s.Name, d.Step, s.Steps[d.Step].String(), d.Text)
		return false
	}
	var b strings.Builder
	for i := range small.Steps {
		b.WriteString("  " + small.Steps[i].String() + "\n")
	}
	t.Errorf("%s, smallest:\n%s%s", s.Name, b.String(), sd.Text)
	return false
}
