package render

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edemux/cli/control"
	"edemux/cli/shell/shelltest"

	"github.com/stretchr/testify/require"
)

func top(v View) *Top {
	return &Top{Prev: shelltest.Sample(4), Cur: shelltest.Sample(5), View: v, Interval: time.Second}
}

// Every view fits a terminal of 80x24 and leaves nothing out there.
func TestTopGolden(t *testing.T) {
	for v := range NViews {
		text := strings.Join(top(v).Lines(80, 24), "\n") + "\n"
		require.Equal(t, 24, strings.Count(text, "\n"))
		golden(t, "top_"+strings.ToLower(v.String()), text)
	}
	x := top(ViewVRFs)
	x.Help = true
	golden(t, "top_help", strings.Join(x.Lines(80, 24), "\n")+"\n")
	x = top(ViewAll)
	golden(t, "top_once", strings.Join(x.Lines(80, 0), "\n")+"\n")
}

// crowd is a machine with many of everything.
func crowd(n, tick int) *control.Snapshot {
	s := shelltest.Sample(tick)
	l, v, w, d := s.Lcores[0], s.VRFs[1], s.Workers[1], s.Drops[0]
	s.Lcores, s.VRFs, s.Workers, s.Drops = nil, nil, nil, nil
	for i := range n {
		l.Index, v.Name, w.Name, d.Reason = i, fmt.Sprintf("customer-with-a-long-name-%d", i), fmt.Sprintf("web-servers-of-the-shop/%d", i), fmt.Sprintf("IPV6_BAD_EXTHDR_%d", i)
		l.Frames, v.Frames, w.Packets, d.Frames = uint64(tick*i*1000), uint64(tick*i*12345), uint64(tick*i*999), uint64(tick*i*7)
		s.Lcores, s.VRFs, s.Workers, s.Drops = append(s.Lcores, l), append(s.VRFs, v), append(s.Workers, w), append(s.Drops, d)
	}
	return s
}

func TestTopCrowd(t *testing.T) {
	x := &Top{Prev: crowd(300, 4), Cur: crowd(300, 5), Interval: time.Second}
	golden(t, "top_crowd", strings.Join(x.Lines(80, 24), "\n")+"\n")
	x.View, x.Selected = ViewVRFs, "customer-with-a-long-name-150"
	text := strings.Join(x.Lines(80, 24), "\n")
	require.Contains(t, text, "\n> customer~ame-150")
	require.Contains(t, text, "rows 143 to 159 of 300")
	x.View, x.Scroll = ViewWorkers, 1000
	require.Contains(t, strings.Join(x.Lines(80, 24), "\n"), "rows 284 to 300 of 300")
	x.View, x.Scroll = ViewLcores, 3
	require.Contains(t, strings.Join(x.Lines(80, 24), "\n"), "rows 4 to 20 of 300")
	require.Len(t, x.Lines(80, 0), 4+301)
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 5}, {3, 2}, {1, 1}, {200, 60}} {
		for v := range NViews {
			x.View = v
			lines := x.Lines(size[0], size[1])
			require.LessOrEqual(t, len(lines), size[1])
			for _, l := range lines {
				require.LessOrEqual(t, len([]rune(l)), size[0])
			}
		}
	}
}

func TestTopSort(t *testing.T) {
	x := top(ViewWorkers)
	first := func() string { return strings.Fields(x.Lines(80, 24)[5])[0] }
	require.Equal(t, 8, x.Columns())
	require.Equal(t, "dns/0", first())
	x.Sort = 4
	require.Equal(t, "web/0", first(), "most packets")
	require.Contains(t, x.Lines(80, 24)[4], "PPS*")
	x.Reverse = true
	require.Equal(t, "dns/0", first())
	x.Sort, x.Reverse = 7, false
	require.Equal(t, "web/1", first(), "most drops")
	x.Sort, x.Reverse = 1, true
	require.Equal(t, "web/1", first(), "names from the end")
	x.Sort = 99
	require.Equal(t, "dns/0", first())

	x = top(ViewVRFs)
	name, s := x.VRF()
	require.Equal(t, "default", name)
	require.True(t, s.UDP)
	x.Move(1)
	x.Move(1)
	x.Sort, x.Reverse = 5, true // red comes first now and stays selected
	require.Equal(t, "> red", x.Lines(80, 24)[5][:5])
	name, s = x.VRF()
	require.Equal(t, "red", name)
	require.False(t, s.UDP)
	x.Move(1)
	require.Equal(t, "default", x.Selected)
	x.Selected = "closed meanwhile"
	name, _ = x.VRF()
	require.Equal(t, "red", name, "the first")
	x.Cur = &control.Snapshot{}
	name, _ = x.VRF()
	require.Empty(t, name)
	x.Move(1)
	x.View = ViewWorkers
	x.Move(-1)
	require.Zero(t, x.Scroll)
}

// Rates are differences, whatever the interval; a counter that began anew does
// not make them absurd.
func TestTopRates(t *testing.T) {
	x := &Top{Prev: shelltest.Sample(2), Cur: shelltest.Sample(5), Interval: time.Second}
	require.Contains(t, x.headline()[1], "1.73M packets/s")
	require.Contains(t, x.headline()[1], "drop 5.00k/s")
	x.Prev, x.Cur = shelltest.Sample(500), shelltest.Sample(2)
	x.Cur.Time = x.Prev.Time.Add(2 * time.Second)
	require.Contains(t, x.headline()[1], "1.73M packets/s")
	x.Prev = nil
	require.Contains(t, x.headline()[1], "1.73M packets/s")
	x.Prev = x.Cur
	require.Contains(t, x.headline()[1], "1.73M packets/s", "the same snapshot again")
	x.Cur = &control.Snapshot{}
	for v := range NViews {
		x.View = v
		require.Len(t, x.Lines(80, 24), 24)
	}
	x.View, x.Message = ViewAll, "a \x1bmessage"
	require.Equal(t, "a .message", x.Lines(80, 24)[2])
}
