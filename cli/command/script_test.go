package command

import (
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sample = `# history of a scenario
#! also a comment
#
#120 close b
@+1.5s early-demux udp off red
	#3   bind {name: c, proto: udp, bind: "10.0.0.1:7002", worker: web/1}
@+0s sysctl udp_early_demux=0

#3 connect c 10.0.0.9:9000
@+1.5s close a` + "\r\n"

func TestScript(t *testing.T) {
	s, err := ParseScript("events.txt", []byte(sample))
	require.NoError(t, err)
	require.Equal(t, 6, s.Len())
	lines := func(evs []Event) (out []int) {
		for _, e := range evs {
			out = append(out, e.Line)
		}
		return out
	}
	require.Equal(t, []int{4, 5, 6, 7, 9, 10}, lines(s.Events()))
	require.Equal(t, []int{6, 9, 4}, lines(s.frames))
	require.Equal(t, []int{7, 5, 10}, lines(s.times))
	require.Equal(t, Bind{Spec: `{name: c, proto: udp, bind: "10.0.0.1:7002", worker: web/1}`, Col: 12}, s.frames[0].Command)
	require.Equal(t, "close a", s.times[2].Text)
	require.Equal(t, 1500*time.Millisecond, s.times[2].Offset)
}

func TestScriptErrors(t *testing.T) {
	for _, c := range []struct{ text, where, msg string }{
		{"close b", ":1:1:", "want #FRAME or @+TIME"},
		{"\n#0 close b", ":2:1:", "frame number from 1"},
		{"#12x close b", ":1:1:", "frame number"},
		{"#99999999999999999999 close b", ":1:1:", "frame number"},
		{"#5", ":1:3:", "want a command"},
		{"  @1.5s close b", ":1:3:", "want @+TIME"},
		{"@+1.5 close b", ":1:1:", "write @+1.5s"},
		{"@+-1s close b", ":1:1:", "want a time"},
		{"@+soon close b", ":1:1:", "want a time"},
		{"@+1s", ":1:5:", "want a command"},
		{"@+1s clo b", "", ""},
		{"#1 colse b", ":1:4:", "did you mean close"},
		{"#1 show vrfs", ":1:4:", "not for scripts: want bind, close, connect, early-demux, sysctl"},
		{"#1 shutdown", ":1:4:", "not for scripts"},
		{"#1 early-demux udp", ":1:19:", "want on or off"},
		{"#1 sysctl tcp_tw_reuse", ":1:23:", "want NAME=VALUE"},
		{"#1 close b | json", ":1:12:", "belongs to the shell"},
		{"#1 close b --json", ":1:12:", "nothing is printed"},
		{"#1 bind {a: b", ":1:9:", "not closed"},
		{"# ü\n#1 early-demux upd off", ":2:16:", "did you mean udp"},
	} {
		_, err := ParseScript("s", []byte(c.text))
		if c.msg == "" {
			require.NoError(t, err, c.text)
			continue
		}
		require.ErrorContains(t, err, c.msg, c.text)
		require.True(t, strings.HasPrefix(err.Error(), "s"+c.where+" "), "%q: %v", c.text, err)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := ParseScript("s", []byte("\n#1 colse b"))
	require.Equal(t, "#1 colse b\n   ^^^^^", err.(*ScriptError).Source())
}

func run(c *Cursor, frames []uint64, at func(uint64) time.Duration) (log []string) {
	for _, f := range frames {
		for c.Due(f, at(f)) {
			log = append(log, c.Next(f, at(f)).Text)
		}
		if c.Next(f, at(f)) != nil {
			panic("Due and Next differ")
		}
	}
	return log
}

func TestCursor(t *testing.T) {
	s, err := ParseScript("s", []byte(strings.Join([]string{
		"#3 close f3", "@+20ms close t20", "#1 close f1", "@+20ms close t20b", "@+15ms close t15", "#3 close f3b", "#9 close f9", "@+1h close never",
	}, "\n")))
	require.NoError(t, err)
	tenMS := func(f uint64) time.Duration { return time.Duration(f-1) * 10 * time.Millisecond }
	c := s.Cursor()
	require.Equal(t, []string{"close f1", "close t15", "close f3", "close t20", "close t20b", "close f3b"}, run(&c, []uint64{1, 2, 3, 4}, tenMS))
	require.Len(t, c.Left(), 2)
	require.Equal(t, "close f9", c.Left()[0].Text)

	c = s.Cursor()
	log := run(&c, []uint64{2, 10}, tenMS)
	require.Equal(t, "close f1", log[0], "before the next frame when its own is left out")
	require.Len(t, log, 7)

	var none *Script
	c = none.Cursor()
	require.False(t, c.Due(1, 0))
	require.Nil(t, c.Next(1<<40, time.Hour))
	require.Zero(t, none.Len())
	require.Empty(t, none.Events())
}

// The cursor against sorting all events by their moment.
func TestCursorTwin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var s Script
		for i := range r.IntN(30) {
			ev := Event{Line: i + 1}
			if r.IntN(2) == 0 {
				ev.Frame = 1 + r.Uint64N(8)
				s.frames = append(s.frames, ev)
			} else {
				ev.Offset = time.Duration(r.IntN(80))
				s.times = append(s.times, ev)
			}
		}
		sort.SliceStable(s.frames, func(i, j int) bool { return s.frames[i].Frame < s.frames[j].Frame })
		sort.SliceStable(s.times, func(i, j int) bool { return s.times[i].Offset < s.times[j].Offset })
		want := s.Events()
		at := func(ev Event) time.Duration { // frame f comes at 10(f-1)
			if ev.Frame > 0 {
				return time.Duration(ev.Frame-1) * 10
			}
			return ev.Offset
		}
		sort.SliceStable(want, func(i, j int) bool { return at(want[i]) < at(want[j]) })
		var got []Event
		c := s.Cursor()
		for f := uint64(1); f <= 9; f++ {
			for c.Due(f, time.Duration(f-1)*10) {
				got = append(got, *c.Next(f, time.Duration(f-1)*10))
			}
		}
		require.Equal(t, want, got, "seed %d", seed)
	}
}
