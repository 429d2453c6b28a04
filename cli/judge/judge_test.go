package judge

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"edemux/cli/replay"
	"edemux/dataplane/mib"
	"edemux/demux"

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
	t.Errorf("%s, smallest:\n%s%s\n%s", s.Name, b.String(), sd.Text, files(t, small))
	return false
}

// files writes a scenario down for replay and explain, and returns the texts.
func files(t *testing.T, s *Scenario) string {
	e := &export{s: s}
	dir, err := os.MkdirTemp("", "edemux-judge-")
	require.NoError(t, err)
	require.NoError(t, e.write(dir))
	return fmt.Sprintf("--- config.yaml\n%s--- script.txt\n%s--- in %s; next: edemux replay -c config.yaml --script script.txt --decisions -, edemux explain -c config.yaml PORT=PORT.pcapng --frame N\n", e.config(), e.script(), dir)
}

// TestExport: what a failure prints is a configuration, a script and a capture
// that replay decides as the trial did.
func TestExport(t *testing.T) {
	needRoot(t)
	for seed := uint64(1); seed <= 20; seed++ {
		s := randomScenario(seed, 30)
		e, want := exported(t, s)
		dir := t.TempDir()
		require.NoError(t, e.write(dir))
		out := &bytes.Buffer{}
		o := &replay.Options{Config: filepath.Join(dir, "config.yaml"), Script: filepath.Join(dir, "script.txt"), Engine: "go", Speed: "max",
			Lcores: 1, Burst: 64, Loop: 1, Quiet: true,
			Decisions: "-", Stdout: out, Stderr: os.Stderr}
		require.NoError(t, replay.Run(context.Background(), o), "%s\n%s", e.config(), e.script())
		var got []string
		last := ""
		for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
			f := strings.Split(line, "\t")
			if frame := f[0] + " " + f[2]; frame != last { // not a further copy
				got, last = append(got, f[11]+" "+f[12]), frame
			}
		}
		require.Equal(t, want, got, "%s\n%s", e.config(), e.script())
	}
}

// exported runs a scenario and returns it without what scripts have no words
// for, with the verdict and reason of each frame.
func exported(t *testing.T, s *Scenario) (e *export, want []string) {
	var steps []Step
	for _, st := range s.Steps {
		o := st.Open
		if st.Attach != nil || st.Detach != "" || st.CPU != nil || st.Rules != nil || st.Hangup != nil ||
			o != nil && (o.ProgBeforeBind != "" || o.McastNotAll || o.Proto == demux.TCP && o.Bind.Addr().IsMulticast()) {
			continue
		}
		steps = append(steps, st)
	}
	e = &export{s: &Scenario{s.Name, s.Net, steps}, refuse: map[int]bool{}}
	require.NoError(t, OnThread(func() error {
		tr, err := NewTrial(&s.Net)
		if err != nil {
			return err
		}
		defer tr.Close()
		for i := range steps {
			st := &steps[i]
			tr.Refused = nil
			if name := st.subject(); name != "" && tr.k.socks[name] == nil {
				e.refuse[i] = true
			}
			if _, err := tr.Take(st); err != nil {
				return err
			}
			e.refuse[i] = e.refuse[i] || tr.Refused != nil
			if st.Frame != nil {
				r := tr.Verdict.Reason.String()
				if tr.Verdict.Verdict == mib.Punt {
					r = tr.Verdict.Punt.String()
				}
				want = append(want, fmt.Sprint(tr.Verdict.Verdict, " ", cmp.Or(r, "-")))
			}
		}
		return nil
	}))
	return e, want
}
