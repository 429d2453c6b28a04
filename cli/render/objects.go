package render

import (
	"fmt"
	"strings"
	"time"

	"edemux/cli/control"
)

func (p *page) vrfs(a *control.VRFs) {
	p.head(&a.Head)
	main := newTable("VRF", "IP", "TCP", "UDP", ">PPS", ">FRAMES", ">DELIVER", ">DROP", ">FLOWS", "INTERFACES")
	rest := newTable("VRF", ">HOLD", ">FORWARD", ">EGRESS", ">PUNT")
	paths := newTable("VRF", ">EARLY", ">ESTABLISHED", ">RULE", ">LISTENER", ">MCAST", ">ICMP")
	early := newTable("VRF", "PROTO", ">TRIED", ">HIT", ">HIT%", ">ROUTE SKIPPED", ">SKIP%")
	flows := newTable("VRF", "PROTO", ">FLOWS", ">LIMIT", ">NEW SYN", ">TIME WAIT", ">DEPTH")
	sizes := newTable("VRF", "PROTO", ">BUCKETS", ">MAX", ">BYTES", "SHARED", "GROWING")
	for i := range a.VRFs {
		v := &a.VRFs[i]
		s := v.Switches
		if v.Name == "-" {
			if v.Frames > 0 {
				main.row(v.Name, "", "", "", rate(v.PPS), v.Frames, v.Verdicts.Deliver, v.Verdicts.Drop, "", "")
			}
			continue
		}
		main.row(v.Name, onOff(s.IP), gate(s.IP, s.TCP), gate(s.IP, s.UDP), rate(v.PPS), v.Frames, v.Verdicts.Deliver, v.Verdicts.Drop,
			v.TCP.Flows+v.UDP.Flows, strings.Join(v.Interfaces, " "))
		d, n := v.Verdicts, v.Paths
		rest.row(v.Name, d.Hold, d.Forward, d.Egress, d.Punt)
		paths.row(v.Name, n["early"], n["established"], n["rule"], n["listener"], n["mcast"], n["icmp"])
		for _, e := range []struct {
			name string
			*control.Early
		}{{"tcp", &v.Early.TCP}, {"udp", &v.Early.UDP}} {
			early.row(v.Name, e.name, e.Tried, e.Hit, share(e.Hit, e.Tried), e.RouteSkipped, share(e.RouteSkipped, e.Tried))
		}
		for _, x := range []struct {
			name string
			*control.Table
		}{{"tcp", &v.TCP}, {"udp", &v.UDP}} {
			flows.row(v.Name, x.name, x.Flows, x.Limit, x.NewSynRecv, x.TimeWait, x.MaxDepth)
			sizes.row(v.Name, x.name, x.Buckets, x.MaxBuckets, x.Bytes, yesNo(x.Shared), yesNo(x.Growing))
		}
	}
	p.table(main, "no VRFs")
	p.section("other verdicts", rest)
	p.section("what found the sockets", paths)
	p.section("early demux", early)
	p.section("flows", flows)
	p.section("flow tables", sizes)
	if len(a.VRFs) != 1 {
		return
	}
	v := &a.VRFs[0]
	if s := byCount(v.Early.NotTried); s != "" {
		p.printf("\nearly demux not tried: %s\n", clean(s))
	}
	if s := byCount(v.Drops); s != "" {
		p.printf("\ndrops: %s\n", clean(s))
	}
}

func (p *page) workers(a *control.Workers) {
	p.head(&a.Head)
	t := newTable("WORKER", "HANDLER", ">CPU", ">PPS", ">PACKETS", ">BYTES", ">RING", ">QUEUED", ">FULL")
	for i := range a.Workers {
		w := &a.Workers[i]
		ring, queued := "inline", "-"
		if w.Ring > 0 {
			ring, queued = fmt.Sprint(w.Ring), fmt.Sprint(w.RingLen)
		}
		t.row(w.Name, w.Handler, orNone(w.CPU), rate(w.PPS), w.Packets, w.Bytes, ring, queued, w.Full)
	}
	p.table(t, "no workers")
}

func (p *page) groups(a *control.Groups) {
	p.head(&a.Head)
	t := newTable("GROUP", "PROTO", ">MEMBERS", "PROGRAM", ">SELECTED", "BY")
	m := newTable("GROUP", ">INDEX", "SOCKET", "WORKER", ">SELECTED", ">SHARE")
	for i := range a.Groups {
		g := &a.Groups[i]
		t.row(g.Name, g.Proto, len(g.Members), yesNo(g.Program), g.Selected, byCount(g.By))
		for _, x := range g.Members {
			m.row(g.Name, x.Index, x.Socket, x.Worker, x.Selected, share(x.Selected, g.Selected))
		}
	}
	p.table(t, "no reuseport groups")
	p.section("members", m)
}

func (p *page) ports(a *control.Ports) {
	p.head(&a.Head)
	t := newTable("PORT", "SOURCE", "MAC", "LINK", ">PPS", ">FRAMES", ">MISSED")
	v := newTable("PORT", ">DELIVER", ">DROP", ">HOLD", ">FORWARD", ">EGRESS", ">PUNT")
	s := newTable("PORT", ">PACKETS", ">BYTES", ">REFUSED", ">UNSENT", ">EXPIRED")
	q := newTable("PORT", ">QUEUE", ">CPU", ">LCORE", ">FRAMES", ">BYTES", ">PASSES", ">STALLED", "STATE")
	for i := range a.Ports {
		x := &a.Ports[i]
		t.row(x.Name, x.Source, x.MAC, x.Link, rate(x.PPS), x.Frames, x.Missed)
		d := x.Verdicts
		v.row(x.Name, d.Deliver, d.Drop, d.Hold, d.Forward, d.Egress, d.Punt)
		if x.Sent+x.Refused+x.Unsent+x.Expired > 0 {
			s.row(x.Name, x.Sent, x.SentBytes, x.Refused, x.Unsent, x.Expired)
		}
		for _, u := range x.Queues {
			state := "open"
			if u.Done {
				state = "at the end"
			}
			q.row(x.Name, u.Index, u.CPU, orNone(u.Lcore), u.Frames, u.Bytes, u.Passes, u.Stalled, state)
		}
	}
	p.table(t, "no ports")
	p.section("verdicts", v)
	p.section("sent", s)
	p.section("queues", q)
}

func (p *page) lcores(a *control.Lcores) {
	p.head(&a.Head)
	t := newTable(">LCORE", ">CPU", "STATE", ">EPOCH", ">BUSY", ">PPS", ">FILL", ">MAX GAP", ">RECENT GAP", "QUEUES")
	c := newTable(">LCORE", ">FRAMES", ">BYTES", ">BURSTS", ">EMPTY POLLS", ">NAPS", ">RECORDED")
	f := newTable(">LCORE", ">HASHES", ">SAVED", ">CREATED", ">REMOVED", ">EVICTED", ">FULL", ">TW FULL", ">CONTENDED", ">RST IGNORED")
	names := []string{">LCORE"}
	low := 1
	for _, b := range control.FillBounds {
		if low == b {
			names = append(names, fmt.Sprintf(">%d", b))
		} else {
			names = append(names, fmt.Sprintf(">%d-%d", low, b))
		}
		low = b + 1
	}
	sizes := newTable(names...)
	for i := range a.Lcores {
		l := &a.Lcores[i]
		t.row(l.Index, orNone(l.CPU), l.State, l.Epoch, percent(l.Busy), rate(l.PPS), decimal(l.Fill), span(l.MaxGapNs), span(l.RecentGapNs), strings.Join(l.Queues, " "))
		c.row(l.Index, l.Frames, l.Bytes, l.Bursts, l.EmptyPolls, l.Naps, l.Recorded)
		f.row(l.Index, l.Computed, l.Saved, l.Created, l.Removed, l.Evicted, l.TableFull, l.TWFull, l.Contended, l.RSTIgnored)
		if len(l.FillCounts) == len(control.FillBounds) {
			cells := []any{l.Index}
			for _, n := range l.FillCounts {
				cells = append(cells, n)
			}
			sizes.row(cells...)
		}
	}
	p.table(t, "no lcores")
	p.section("received", c)
	p.section("hashes and flows", f)
	p.section("bursts by size", sizes)
}

func (p *page) sockets(a *control.Sockets) {
	p.head(&a.Head)
	t := newTable("SOCKET", "PROTO", "STATE", "LOCAL", "REMOTE", "VRF", "DEV", "WORKER", "GROUP")
	for i := range a.Sockets {
		s := &a.Sockets[i]
		proto := s.Proto
		if s.Family == 6 {
			proto += "6"
		}
		t.row(s.Name, proto, s.State, s.Local, s.Remote, s.VRF, s.Dev, s.Worker, s.Group)
	}
	t.drop("REMOTE", "-")
	t.drop("DEV", "-")
	p.table(t, "no sockets match")
	p.more(len(a.Sockets), uint64(a.Total), "sockets", a.After)
}

func (p *page) flows(a *control.Flows) {
	p.head(&a.Head)
	t := newTable("VRF", "PROTO", "LOCAL", "REMOTE", "STATE", "SOCKET", "WORKER", ">EXPIRES", "DEV")
	for i := range a.Flows {
		f := &a.Flows[i]
		expires := "never"
		if f.Expires >= 0 {
			expires = span(uint64(f.Expires) * uint64(time.Millisecond))
		}
		t.row(f.VRF, f.Proto, f.Local, f.Remote, f.State, f.Socket, f.Worker, expires, f.Dev)
	}
	t.drop("EXPIRES", "never")
	t.drop("DEV", "-")
	p.table(t, "no flows match")
	p.more(len(a.Flows), a.Total, "flows", a.After)
}

// more says how much of the whole was shown, and how to see the rest.
func (p *page) more(shown int, total uint64, what, after string) {
	p.printf("%d of %d %s", shown, total, what)
	if after != "" {
		p.printf("; next: the same with --after %s", clean(after))
	}
	p.printf("\n")
}
