//go:build race

package flowtable

import (
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

func init() { raceScale = 20 }

const provoke = "FLOWTABLE_PROVOKE_RACE"

// TestRaceIsCaught: this build would see a writer that stores into the table
// without atomics. It runs itself once with such a writer, which must fail, and
// once without.
func TestRaceIsCaught(t *testing.T) {
	for _, mode := range []string{"race", "clean"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProvokedRace$", "-test.count=1")
		cmd.Env = append(os.Environ(), provoke+"="+mode)
		out, err := cmd.CombinedOutput()
		caught := err != nil && strings.Contains(string(out), "WARNING: DATA RACE")
		if caught != (mode == "race") {
			t.Fatalf("%s: error %v, output:\n%s", mode, err, out)
		}
	}
}

// TestProvokedRace is the child of TestRaceIsCaught; on its own it checks that
// lookups beside the table's own writers are clean.
func TestProvokedRace(t *testing.T) {
	s, _ := testSpace(t, Limits{})
	k := numberKey(1, false)
	insertRetry(t, s, &k, Flow{Sock: 1}, 0)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			s.Lookup(s.hash(&k), &k, Dev{}, 0)
		}
	}()
	for i := range 2000 {
		if os.Getenv(provoke) == "race" {
			g := s.t.v4.first.Load()
			g.lines[g.home(s.hash(&k))][4] = uint64(i) // the address word of an empty slot
		}
		r := s.Lookup(s.hash(&k), &k, Dev{}, 0)
		noErr(t, s.Update(r, &k, Flow{Sock: 1, Next: uint32(i)}))
	}
	stop.Store(true)
	<-done
}
