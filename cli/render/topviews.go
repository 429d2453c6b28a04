package render

import (
	"fmt"
	"strings"

	"edemux/cli/control"
)

// nameMax is the most columns of a name in top; show prints names in full.
const nameMax = 16

// clip leaves out the middle of a long name: names often differ at the end.
func clip(s string) string {
	r := []rune(s)
	if len(r) <= nameMax {
		return s
	}
	return string(r[:nameMax/2]) + "~" + string(r[len(r)-nameMax/2+1:])
}

// rows is the table of one view, sorted as the user wants when it is the view
// that is shown.
func (t *Top) rows(v View) *topTable {
	var x *topTable
	switch v {
	case ViewLcores:
		x = t.lcores()
	case ViewVRFs:
		x = t.vrfs()
	case ViewWorkers:
		x = t.workers()
	case ViewDrops:
		x = t.dropped()
	default:
		return &topTable{}
	}
	if v == t.View {
		x.sort(t.Sort, t.Reverse)
	}
	return x
}

func (t *Top) lcores() *topTable {
	x := &topTable{cols: []string{">LCORE", ">CPU", "STATE", ">BUSY", ">PPS", ">FILL", ">GAP", ">MAX GAP", "QUEUES"}}
	before := map[int]*control.Lcore{}
	if t.Prev != nil {
		for i := range t.Prev.Lcores {
			before[t.Prev.Lcores[i].Index] = &t.Prev.Lcores[i]
		}
	}
	for i := range t.Cur.Lcores {
		l := &t.Cur.Lcores[i]
		busy, fill, pps := l.Busy, l.Fill, l.PPS
		if p := before[l.Index]; p != nil {
			b := since(l.BusyNs, p.BusyNs)
			if all := b + since(l.IdleNs, p.IdleNs); all > 0 {
				busy = float64(b) / float64(all)
			}
			if n := since(l.Bursts, p.Bursts); n > 0 {
				fill = float64(since(l.Frames, p.Frames)) / float64(n)
			}
			pps = t.perSecond(l.Frames, p.Frames, l.PPS)
		}
		x.row(fmt.Sprint(l.Index), number(fmt.Sprint(l.Index), -float64(l.Index)), number(orNone(l.CPU), -float64(l.CPU)), word(l.State),
			number(percent(busy), busy), count(pps), number(decimal(fill), fill), number(span(l.RecentGapNs), float64(l.RecentGapNs)),
			number(span(l.MaxGapNs), float64(l.MaxGapNs)), word(strings.Join(l.Queues, " ")))
	}
	return x
}

func (t *Top) vrfs() *topTable {
	x := &topTable{cols: []string{"VRF", "IP", "TCP", "UDP", ">PPS", ">DROP/s", ">TCP hit", ">skip", ">UDP hit", ">skip", ">FLOWS"}}
	before := map[string]*control.VRF{}
	if t.Prev != nil {
		for i := range t.Prev.VRFs {
			before[t.Prev.VRFs[i].Name] = &t.Prev.VRFs[i]
		}
	}
	for i := range t.Cur.VRFs {
		v := &t.Cur.VRFs[i]
		if v.Name == "-" {
			continue
		}
		p := before[v.Name]
		if p == nil {
			p = &control.VRF{}
		}
		s := v.Switches
		tcp, udp := early(v.Early.TCP, p.Early.TCP), early(v.Early.UDP, p.Early.UDP)
		flows := float64(v.TCP.Flows + v.UDP.Flows)
		x.row(v.Name, word(clip(v.Name)), word(onOff(s.IP)), word(gate(s.IP, s.TCP)), word(gate(s.IP, s.UDP)),
			count(t.perSecond(v.Frames, p.Frames, v.PPS)), count(t.perSecond(v.Verdicts.Drop, p.Verdicts.Drop, 0)),
			shareCell(tcp.Hit, tcp.Tried), shareCell(tcp.RouteSkipped, tcp.Tried), shareCell(udp.Hit, udp.Tried), shareCell(udp.RouteSkipped, udp.Tried),
			count(flows))
	}
	return x
}

func early(now, before control.Early) control.Early {
	return control.Early{Tried: since(now.Tried, before.Tried), Hit: since(now.Hit, before.Hit), RouteSkipped: since(now.RouteSkipped, before.RouteSkipped)}
}

func (t *Top) workers() *topTable {
	x := &topTable{cols: []string{"WORKER", "HANDLER", ">CPU", ">PPS", ">bit/s", ">RING", ">DROP/s", ">DROPS"}}
	before := map[string]*control.Worker{}
	if t.Prev != nil {
		for i := range t.Prev.Workers {
			before[t.Prev.Workers[i].Name] = &t.Prev.Workers[i]
		}
	}
	for i := range t.Cur.Workers {
		w := &t.Cur.Workers[i]
		p := before[w.Name]
		if p == nil {
			p = &control.Worker{}
		}
		ring := cell{"inline", -1}
		if w.Ring > 0 {
			ring = shareCell(uint64(w.RingLen), uint64(w.Ring))
		}
		x.row(w.Name, word(clip(w.Name)), word(w.Handler), number(orNone(w.CPU), -float64(w.CPU)), count(t.perSecond(w.Packets, p.Packets, w.PPS)),
			count(8*t.perSecond(w.Bytes, p.Bytes, 0)), ring, count(t.perSecond(w.Full, p.Full, 0)), count(float64(w.Full)))
	}
	return x
}

func (t *Top) dropped() *topTable {
	x := &topTable{cols: []string{"REASON", "VRF", ">/s", ">TOTAL", ">SHARE", "MEANING"}}
	type key struct{ reason, vrf string }
	before := map[key]uint64{}
	if t.Prev != nil {
		for _, d := range t.Prev.Drops {
			before[key{d.Reason, d.VRF}] = d.Frames
		}
	}
	for _, d := range t.Cur.Drops {
		if d.Frames > 0 {
			x.row(d.Reason, word(d.Reason), word(clip(d.VRF)), count(t.perSecond(d.Frames, before[key{d.Reason, d.VRF}], 0)), count(float64(d.Frames)),
				shareCell(d.Frames, t.Cur.Totals.Verdicts.Drop), word(d.Hint))
		}
	}
	return x
}

// one draws a single view with its scroll position.
func (t *Top) one(room int) []string {
	x := t.rows(t.View)
	if len(x.rows) == 0 {
		return []string{none[t.View]}
	}
	selected := -1
	if t.View == ViewVRFs && room > 0 {
		selected = t.selected(x)
	}
	lines := x.lines(t.Sort, selected)
	if room == 0 || len(lines) <= room {
		return lines
	}
	body := lines[1:]
	fit := max(1, room-2) // the header, and the line that says what is left
	from := min(t.Scroll, len(body)-fit)
	if selected >= 0 {
		from = max(0, min(len(body)-fit, selected-fit/2))
	}
	from = max(0, from)
	out := append([]string{lines[0]}, body[from:from+fit]...)
	return append(out, fmt.Sprintf("rows %d to %d of %d", from+1, from+fit, len(body)))
}

var none = [NViews]string{ViewLcores: "no lcores", ViewVRFs: "no VRFs", ViewWorkers: "no workers", ViewDrops: "nothing was dropped"}

// all draws the four tables below each other. Where room is short each keeps
// its busiest rows.
func (t *Top) all(room int) (lines []string) {
	views := []View{ViewLcores, ViewVRFs, ViewWorkers, ViewDrops}
	sortBy := map[View]string{ViewLcores: ">PPS", ViewVRFs: ">PPS", ViewWorkers: ">PPS", ViewDrops: ">/s"}
	tables := map[View]*topTable{}
	want := map[View]int{}
	for _, v := range views {
		tables[v] = t.rows(v)
		want[v] = max(1, len(tables[v].rows))
	}
	give := want
	if room > 0 {
		give = divide(want, views, room-2*len(views)+1) // headers, and lines between
	}
	for i, v := range views {
		x := tables[v]
		if i > 0 {
			lines = append(lines, "")
		}
		if len(x.rows) == 0 {
			lines = append(lines, none[v])
			continue
		}
		if n := give[v]; n < len(x.rows) || v == ViewDrops {
			for c, name := range x.cols {
				if name == sortBy[v] {
					x.sort(c+1, false)
				}
			}
		}
		part := x.lines(0, -1)
		if n := give[v]; n < len(x.rows) {
			part = append(part[:n], fmt.Sprintf("... %d more: press %d", len(x.rows)-n+1, v+1))
		}
		lines = append(lines, part...)
	}
	return lines
}

// divide shares out room rows: one each in turn to whoever still wants one.
func divide(want map[View]int, views []View, room int) map[View]int {
	give := map[View]int{}
	for progress := true; progress; {
		progress = false
		for _, v := range views {
			if give[v] < want[v] && (room > 0 || give[v] == 0) {
				give[v]++
				room--
				progress = true
			}
		}
	}
	return give
}
