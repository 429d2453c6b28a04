package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"edemux/cli/control"
)

// Answer writes an answer of the daemon, a pointer to one of control's types,
// for a terminal of width columns; 0 is any width.
func Answer(w io.Writer, answer any, width int) error {
	p := &page{width: width}
	switch a := answer.(type) {
	case *control.VRFs:
		p.vrfs(a)
	case *control.Workers:
		p.workers(a)
	case *control.Groups:
		p.groups(a)
	case *control.Ports:
		p.ports(a)
	case *control.Lcores:
		p.lcores(a)
	case *control.Drops:
		p.drops(a)
	case *control.MIB:
		p.mib(a)
	case *control.Sockets:
		p.sockets(a)
	case *control.Flows:
		p.flows(a)
	case *control.EarlyDemux:
		p.earlyDemux(a)
	case *control.Sysctls:
		p.sysctls(a)
	case *control.Changed:
		p.changed(a)
	case *control.Reloaded:
		p.reloaded(a)
	case *control.Explained:
		p.explained(a)
	case *control.Config:
		p.config(a)
	case *control.Version:
		p.version(a)
	default:
		return fmt.Errorf("no text for an answer of type %T", answer)
	}
	return writeAll(w, &p.Builder)
}

// page collects the text of one answer.
type page struct {
	strings.Builder
	width int
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// table writes t, or what stands in its place when it is empty.
func (p *page) table(t *table, none string) {
	if len(t.rows) == 0 {
		if none != "" {
			p.printf("%s\n", none)
		}
		return
	}
	t.write(&p.Builder, p.width)
}

// section is a table under a line of its own, after an empty line; nothing when
// the table is empty.
func (p *page) section(title string, t *table) {
	if len(t.rows) > 0 {
		p.printf("\n%s\n", title)
		t.write(&p.Builder, p.width)
	}
}

// head says which snapshot the numbers are of.
func (p *page) head(h *control.Head) {
	p.printf("snapshot %d, epoch %d, %s\n", h.Snapshot, h.Epoch, clock(h.Time))
}

func clock(t time.Time) string { return t.Format("15:04:05") }

func (p *page) earlyDemux(a *control.EarlyDemux) {
	p.printf("epoch %d\n", a.Epoch)
	t := newTable("VRF", "IP", "TCP", "UDP")
	gated := false
	for _, v := range a.VRFs {
		t.row(v.VRF, onOff(v.IP), gate(v.IP, v.TCP), gate(v.IP, v.UDP))
		gated = gated || !v.IP && (v.TCP || v.UDP)
	}
	p.table(t, "no VRFs")
	if gated {
		p.printf("(on): without effect while ip is off\n")
	}
}

// gate writes a protocol's switch, which counts only when ip's is on.
func gate(ip, on bool) string {
	if on && !ip {
		return "(on)"
	}
	return onOff(on)
}

func (p *page) sysctls(a *control.Sysctls) {
	p.printf("epoch %d\n", a.Epoch)
	t := newTable("VRF", "NAME", "VALUE", "")
	for _, s := range a.Values {
		vrf, note := s.VRF, "\x00"
		if vrf == "" {
			vrf = "(all)"
		}
		if s.ReadOnly {
			note = "read-only"
		}
		t.row(vrf, s.Name, s.Value, note)
		if note == "\x00" {
			t.rows[len(t.rows)-1][3] = ""
		}
	}
	p.table(t, "no sysctls")
}

func (p *page) changed(a *control.Changed) {
	p.printf("%s (epoch %d)\n", strings.TrimRight(clean(a.Did), "."), a.Epoch)
}

func (p *page) reloaded(a *control.Reloaded) {
	for _, w := range a.Warnings {
		p.printf("warning: %s\n", clean(w))
	}
	if a.Unchanged || len(a.Did) == 0 {
		p.printf("the file says what is running already: nothing to do (epoch %d)\n", a.Epoch)
		return
	}
	for _, d := range a.Did {
		p.printf("%s\n", clean(d))
	}
	p.printf("applied (epoch %d)\n", a.Epoch)
}

// explained prints the daemon's own text, which fits 80 columns, or the steps
// when there is none.
func (p *page) explained(a *control.Explained) {
	if a.Text != "" {
		for line := range strings.SplitSeq(strings.TrimRight(a.Text, "\n"), "\n") {
			p.printf("%s\n", clean(line))
		}
		return
	}
	const label = 13
	for _, s := range a.Steps {
		for i, l := range wrap(clean(s.Text), p.width-label) {
			name := ""
			if i == 0 {
				name = clean(s.Step)
			}
			p.printf("%-*s%s\n", label, name, l)
		}
	}
}

// config prints the file as it was applied; what is added are YAML comments.
func (p *page) config(a *control.Config) {
	file := a.File
	if file == "" {
		file = "the default configuration"
	}
	p.printf("# %s, applied %s, epoch %d\n", clean(file), a.Loaded.Format("2006-01-02 15:04:05"), a.Epoch)
	for line := range strings.SplitSeq(strings.TrimRight(a.Text, "\n"), "\n") {
		p.printf("%s\n", clean(strings.ReplaceAll(line, "\t", "    ")))
	}
	if len(a.Changes)+a.Dropped == 0 {
		return
	}
	p.printf("# changed since then:\n")
	if a.Dropped > 0 {
		p.printf("#   (%d earlier changes are not listed)\n", a.Dropped)
	}
	for _, c := range a.Changes {
		p.printf("#   %s\n", clean(c))
	}
}

func (p *page) version(a *control.Version) {
	for _, r := range [][2]string{
		{"edemux", a.Edemux}, {"go", a.Go}, {"dpdk", a.DPDK}, {"api", a.API},
		{"pid", fmt.Sprint(a.PID)}, {"started", a.Started.Format("2006-01-02 15:04:05")},
	} {
		p.printf("%-8s %s\n", r[0], clean(r[1]))
	}
}

func (p *page) mib(a *control.MIB) {
	p.head(&a.Head)
	t := newTable("COUNTER", ">VALUE")
	zero := 0
	for _, name := range slices.Sorted(maps.Keys(a.Counters)) {
		if a.Counters[name] == 0 {
			zero++
			continue
		}
		t.row(name, a.Counters[name])
	}
	p.table(t, "")
	if zero > 0 {
		p.printf("%d counters are 0\n", zero)
	}
}

func (p *page) drops(a *control.Drops) {
	p.head(&a.Head)
	t := newTable("REASON", "VRF", ">FRAMES", ">SHARE", "MEANING")
	for _, d := range a.Drops {
		if d.Frames > 0 {
			t.row(d.Reason, d.VRF, d.Frames, share(d.Frames, a.Total), "")
		}
	}
	if len(t.rows) == 0 {
		p.printf("nothing was dropped\n")
		return
	}
	room := 0
	if p.width > 0 {
		room = p.width
		for _, n := range t.widths()[:4] {
			room -= n + 2
		}
	}
	p.meanings(t, a, room)
	p.table(t, "")
	p.printf("dropped in all: %d\n", a.Total)
}

// meanings fills the last column, over several lines where it is narrow.
func (p *page) meanings(t *table, a *control.Drops, room int) {
	var rows [][]string
	i := 0
	for _, d := range a.Drops {
		if d.Frames == 0 {
			continue
		}
		for n, l := range wrap(clean(d.Hint), max(room, 20*min(room, 1))) {
			r := []string{"", "", "", "", l}
			if n == 0 {
				copy(r, t.rows[i][:4])
			}
			rows = append(rows, r)
		}
		i++
	}
	t.rows = rows
}
