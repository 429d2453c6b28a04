package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"edemux/cli/control"
)

// View is what `edemux top` shows below its headline.
type View int

// Views, in the order of their keys.
const (
	ViewAll View = iota
	ViewLcores
	ViewVRFs
	ViewWorkers
	ViewDrops
	NViews
)

var viewNames = [NViews]string{"all", "lcores", "VRFs", "workers", "drops"}

func (v View) String() string { return viewNames[v] }

// Top is the state of `edemux top`: two snapshots, whose difference it shows,
// and what the user chose. The zero value of the choices is the first view in
// the daemon's order.
type Top struct {
	Prev, Cur *control.Snapshot // Prev nil: the rates that Cur brings along
	View      View
	Sort      int    // column of the view's table, from 1; 0: the daemon's order
	Reverse   bool   // smallest first
	Selected  string // VRF that the switches act on; "": the first row's
	Scroll    int    // rows of the view that are above its first line
	Help      bool
	Paused    bool
	Interval  time.Duration
	Message   string // of what a key did, or why there is nothing new
}

// VRF is the name of the selected VRF and its switches; "" when there is none.
func (t *Top) VRF() (string, control.Switches) {
	x := t.rows(ViewVRFs)
	if len(x.rows) == 0 {
		return "", control.Switches{}
	}
	name := x.rows[t.selected(x)].name
	for i := range t.Cur.VRFs {
		if t.Cur.VRFs[i].Name == name {
			return name, t.Cur.VRFs[i].Switches
		}
	}
	return "", control.Switches{}
}

// selected is the row of the selected VRF in x. It follows the VRF when rows
// change places, so that a key never means another one than the eye saw.
func (t *Top) selected(x *topTable) int {
	for i := range x.rows {
		if x.rows[i].name == t.Selected {
			return i
		}
	}
	return 0
}

// Move goes down by rows: to another VRF in ViewVRFs, else with the picture.
func (t *Top) Move(by int) {
	x := t.rows(t.View)
	last := max(0, len(x.rows)-1)
	if t.View != ViewVRFs {
		t.Scroll = min(last, max(0, t.Scroll+by))
		return
	}
	if len(x.rows) > 0 {
		t.Selected = x.rows[min(last, max(0, t.selected(x)+by))].name
	}
}

// Columns is the number of columns of the view's table.
func (t *Top) Columns() int {
	if t.View == ViewAll {
		return 0
	}
	return len(t.rows(t.View).cols)
}

// Lines draws the view for a terminal; height 0 is as long as it takes. No line
// is longer than width; the last one says what keys do, unless height is 0.
func (t *Top) Lines(width, height int) []string {
	lines := t.headline()
	room := 0
	if height > 0 {
		room = max(1, height-len(lines)-1)
	}
	switch {
	case t.Help:
		lines = append(lines, fitLines(strings.Split(strings.TrimRight(topHelp, "\n"), "\n"), room)...)
	case t.View == ViewAll:
		lines = append(lines, t.all(room)...)
	default:
		lines = append(lines, t.one(room)...)
	}
	if height > 0 {
		for len(lines) < height-1 {
			lines = append(lines, "")
		}
		lines = append(lines[:max(0, height-1)], "q quit  1-5 view  s sort  r reverse  arrows move  i/t/u switch in 3  h help")
	}
	for i, l := range lines {
		if utf8.RuneCountInString(l) > width {
			lines[i] = string([]rune(l)[:width])
		}
	}
	return lines
}

const topHelp = `
  1 2 3 4 5, Tab   all, lcores, VRFs, workers, drops
  s r              sort by the next column; the other way round
  up down          choose a VRF in view 3, scroll in the others
  i t u            in view 3: turn early demux of ip, tcp, udp on or off
                   in the chosen VRF, at the next burst of every lcore
  + -              longer or shorter interval
  space            hold the picture
  q, Ctrl-C        leave

  hit    share of early-demux lookups that found a flow
  skip   share of them that saved the route lookup
  fill   frames per burst
  gap    longest time between two polls, lately and since the start
  ring   share of the worker's ring that waits
`

func fitLines(lines []string, room int) []string {
	if room > 0 && len(lines) > room {
		return lines[:room]
	}
	return lines
}

func (t *Top) headline() []string {
	c, n := t.Cur, &t.Cur.Totals
	var p control.Totals
	if t.Prev != nil {
		p = t.Prev.Totals
	}
	views := ""
	for v := range NViews {
		mark := fmt.Sprintf("  %d %s", v+1, v)
		if v == t.View {
			mark = fmt.Sprintf(" [%d %s]", v+1, v)
		}
		views += mark
	}
	state := ""
	if t.Paused {
		state = "  HELD"
	}
	second := fmt.Sprintf("%s packets/s  %sbit/s  deliver %s  drop %s/s  flows %s",
		short(t.perSecond(n.Frames, p.Frames, n.PPS)), short(8*t.perSecond(n.Bytes, p.Bytes, 0)),
		share(since(n.Verdicts.Deliver, p.Verdicts.Deliver), since(n.Verdicts.Sum(), p.Verdicts.Sum())),
		short(t.perSecond(n.Verdicts.Drop, p.Verdicts.Drop, 0)), short(float64(n.Flows)))
	third := strings.TrimPrefix(views, " ")
	if t.Message != "" {
		third = clean(t.Message)
	}
	return []string{
		fmt.Sprintf("edemux top  %s  up %s  snapshot %d  epoch %d  every %v%s", clock(c.Time), time.Duration(c.Uptime)*time.Second, c.Snapshot, c.Epoch, t.Interval, state),
		second, third, "",
	}
}

// since is a counter's growth. After `clear counters`, or of another daemon, it
// began at 0 again.
func since(now, before uint64) uint64 {
	if now < before {
		return now
	}
	return now - before
}

// perSecond is the rate of a counter, alone when there is nothing to compare.
func (t *Top) perSecond(now, before uint64, alone float64) float64 {
	if t.Prev == nil {
		return alone
	}
	d := t.Cur.Time.Sub(t.Prev.Time).Seconds()
	if d <= 0 {
		return alone
	}
	return float64(since(now, before)) / d
}

// cell is a value of a table of top: what it shows and how it sorts.
type cell struct {
	text string
	key  float64
}

type topRow struct {
	name  string // sorts the columns of text
	cells []cell
}

// topTable is a table with rows that can be sorted.
type topTable struct {
	cols []string // `>` begins those of numbers
	rows []topRow
}

func (x *topTable) row(name string, cells ...cell) { x.rows = append(x.rows, topRow{name, cells}) }

func word(s string) cell { return cell{text: s} }

func number(text string, key float64) cell { return cell{text, key} }

func count(n float64) cell { return cell{short(n), n} }

func shareCell(part, whole uint64) cell {
	if whole == 0 {
		return cell{"-", -1}
	}
	return cell{percent(float64(part) / float64(whole)), float64(part) / float64(whole)}
}

// sort orders by column by (from 1), numbers from the largest, words from a.
func (x *topTable) sort(by int, reverse bool) {
	if by < 1 || by > len(x.cols) {
		return
	}
	numeric := strings.HasPrefix(x.cols[by-1], ">")
	slices.SortStableFunc(x.rows, func(a, b topRow) int {
		c := strings.Compare(a.cells[by-1].text, b.cells[by-1].text)
		if numeric {
			c = cmp.Compare(b.cells[by-1].key, a.cells[by-1].key)
		}
		if reverse {
			return -c
		}
		return c
	})
}

// lines are the header, marked where it sorts, and the rows. Selected, unless
// -1, has a mark in front.
func (x *topTable) lines(by, selected int) []string {
	names := slices.Clone(x.cols)
	if by >= 1 && by <= len(names) {
		names[by-1] += "*"
	}
	t := newTable(names...)
	for _, r := range x.rows {
		cells := make([]any, len(r.cells))
		for i, c := range r.cells {
			cells[i] = c.text
		}
		t.row(cells...)
	}
	width := 80
	if selected >= 0 {
		width -= 2
	}
	w := t.widths()
	gap, _ := t.lines(w, width)
	var b strings.Builder
	t.writeLines(&b, w, gap, []int{len(w)})
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		switch {
		case selected < 0:
		case i == selected+1:
			lines[i] = "> " + lines[i]
		default:
			lines[i] = "  " + lines[i]
		}
	}
	return lines
}
