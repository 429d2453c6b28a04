package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edemux/cli/gen"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseFrames(t *testing.T) {
	for in, want := range map[string]frameRange{
		"": {1, lastFrame}, "3": {3, 3}, "3-": {3, lastFrame}, "-3": {1, 3}, "2-9": {2, 9},
	} {
		got, err := parseFrames(in)
		require.NoError(t, err, in)
		assert.Equal(t, want, got, in)
	}
	for _, in := range []string{"0", "-", "9-3", "x", "3-x", "-0", "1-2-3", "+1"} {
		_, err := parseFrames(in)
		assert.Error(t, err, in)
	}
}

// synthetic writes n UDP frames, a millisecond apart, and returns the file.
func synthetic(t *testing.T, n int64) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "in.pcap")
	f, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, gen.Generate(f, gen.Options{Flows: 5, Packets: n, Rate: 1000}))
	require.NoError(t, f.Close())
	return file
}

// replayJSON runs a replay and returns its summary and decisions.
func replayJSON(t *testing.T, o Options) (*Summary, []string) {
	t.Helper()
	var out bytes.Buffer
	tsv := filepath.Join(t.TempDir(), "d.tsv")
	o.JSON, o.Decisions, o.Stdout, o.Stderr = true, tsv, &out, os.Stderr
	if o.Lcores == 0 {
		o.Lcores = 1
	}
	if o.Burst == 0 {
		o.Burst = 64
	}
	if o.Speed == "" {
		o.Speed = "max"
	}
	if !o.LoopSet {
		o.Loop = 1
	}
	require.NoError(t, Run(context.Background(), &o))
	s := new(Summary)
	require.NoError(t, json.Unmarshal(out.Bytes(), s))
	b, err := os.ReadFile(tsv)
	require.NoError(t, err)
	return s, strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")[1:]
}

func TestLoopShiftsTimesAndKeepsState(t *testing.T) {
	in := []Source{{Path: synthetic(t, 10)}}
	s, lines := replayJSON(t, Options{Inputs: in, Loop: 3, LoopSet: true})
	assert.EqualValues(t, 30, s.Input.Frames)
	require.Len(t, lines, 30)
	last := ""
	for i, l := range lines {
		c := strings.Split(l, "\t")
		assert.Equal(t, c[0], strings.Split(lines[i%10], "\t")[0], "frame numbers are those of the file")
		assert.Greater(t, c[1], last, "time goes on")
		last = c[1]
	}
	first, second := strings.Split(lines[0], "\t")[1], strings.Split(lines[10], "\t")[1]
	assert.Equal(t, int64(9*time.Millisecond+time.Millisecond), atoi(t, second)-atoi(t, first), "span and 1 ms")
}

func atoi(t *testing.T, s string) (n int64) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(s), &n))
	return n
}

func TestDurationAndFrames(t *testing.T) {
	in := []Source{{Path: synthetic(t, 10)}}
	s, _ := replayJSON(t, Options{Inputs: in, Duration: 5 * time.Millisecond})
	assert.EqualValues(t, 5, s.Input.Frames)
	s, lines := replayJSON(t, Options{Inputs: in, Frames: "4-6"})
	assert.EqualValues(t, 3, s.Input.Frames)
	assert.True(t, strings.HasPrefix(lines[0], "4\t"))
	s, _ = replayJSON(t, Options{Inputs: in, Duration: 25 * time.Millisecond, Loop: 0, LoopSet: true})
	assert.EqualValues(t, 25, s.Input.Frames)
}

func TestFilterLeavesFramesOut(t *testing.T) {
	in := []Source{{Path: synthetic(t, 10)}}
	all, lines := replayJSON(t, Options{Inputs: in})
	port := strings.Split(lines[0], "\t")[8]
	some, kept := replayJSON(t, Options{Inputs: in, Filter: "src port " + port})
	assert.Less(t, some.Input.Frames, all.Input.Frames)
	assert.NotEmpty(t, kept)
	for _, l := range kept {
		assert.Equal(t, port, strings.Split(l, "\t")[8])
	}
}

func TestMergeKeepsArgumentOrderOnTies(t *testing.T) {
	file := synthetic(t, 4)
	s, lines := replayJSON(t, Options{Inputs: []Source{{Port: "b", Path: file}, {Port: "a", Path: file}}})
	assert.EqualValues(t, 8, s.Input.Frames)
	assert.Equal(t, 2, s.Input.Captures)
	for i, l := range lines {
		c := strings.Split(l, "\t")
		assert.Equal(t, []string{"b", "a"}[i%2], c[2])
	}
}

func TestPacedReplayTakesItsTime(t *testing.T) {
	in := []Source{{Path: synthetic(t, 40)}}
	start := time.Now()
	fast, _ := replayJSON(t, Options{Inputs: in, Speed: "max"})
	slow, _ := replayJSON(t, Options{Inputs: in, Speed: "real"})
	assert.GreaterOrEqual(t, time.Since(start), 38*time.Millisecond)
	fast.Timing, slow.Timing = Timing{}, Timing{}
	assert.Equal(t, fast, slow)
}

func TestScriptSplitsBursts(t *testing.T) {
	in := []Source{{Path: synthetic(t, 10)}}
	script := filepath.Join(t.TempDir(), "s.txt")
	require.NoError(t, os.WriteFile(script, []byte("#4 close udp\n@+7ms bind {name: late, proto: udp, bind: \"0.0.0.0:9000\", worker: w/3}\n"), 0o644))
	for _, burst := range []int{1, 3, 64} {
		_, lines := replayJSON(t, Options{Inputs: in, Script: script, Burst: burst, Local: "all"})
		for i, l := range lines {
			c := strings.Split(l, "\t")
			want := []string{"deliver", "-", "rule"}
			switch {
			case i >= 7:
				want = []string{"deliver", "-", "listener"}
				assert.Equal(t, "late", c[14])
			case i >= 3:
				want = []string{"drop", "NO_SOCKET", "-"}
			}
			assert.Equal(t, want, c[11:14], "frame %d, bursts of %d", i+1, burst)
		}
	}
}
