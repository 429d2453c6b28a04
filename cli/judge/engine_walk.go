package judge

import (
	"sort"

	"edemux/dataplane/packet"
	"edemux/demux"
)

// frameTime is the time between two frames on the engine's clock, ns. Nothing
// may expire within a trial, as nothing does in the kernel's.
const frameTime = 1000

// Parse reads the headers of a frame with every check on.
func (g *Engine) Parse(f *packet.Frame, m *packet.Meta) { packet.Parse(f, &g.parse, m) }

// Ingress is the interface that a frame comes in on, "" when there is none.
func (g *Engine) Ingress(f *packet.Frame, m *packet.Meta) string {
	if i := g.e.View().Ingress(f.Port, m.VLANs, m.NVLAN); i != nil {
		return i.Name
	}
	return ""
}

// Send walks one frame.
func (g *Engine) Send(f *packet.Frame) *Verdict {
	g.clock += frameTime
	b := g.burst
	b.N, b.Parsed = 1, false
	b.Frames[0] = *f
	b.Frames[0].TS = g.clock
	g.l.Walk(b, 0)
	d := b.Dec[0]
	v := &Verdict{Verdict: d.Verdict, Reason: d.Reason, Punt: d.Punt, Path: d.Path, CPU: int(f.CPU)}
	if m := &b.Metas[0]; m.Has(packet.ICMPError) {
		if e, ok := packet.Embedded(f.Data, m); ok {
			v.About = newFlowKey(addrPort(e.Daddr, e.Dport), addrPort(e.Saddr, e.Sport))
		}
	}
	names := g.e.Names()
	if d.Sock != 0 {
		v.Socks = append(v.Socks, names.Sock(d.Sock))
	}
	for _, c := range b.Copies {
		if c.Sock != 0 {
			v.Socks = append(v.Socks, names.Sock(c.Sock))
		}
	}
	now := g.e.Counters()
	for c := range now.MIB {
		v.MIB[c] = int64(now.MIB[c] - g.base.MIB[c])
	}
	for i := range now.Groups {
		for by := range now.Groups[i].By {
			var old uint64
			if i < len(g.base.Groups) {
				old = g.base.Groups[i].By[by]
			}
			if now.Groups[i].By[by] != old {
				v.By, v.Group = demux.By(by), uint32(i+1)
			}
		}
	}
	g.base = now
	g.alternatives(v, d.Sock, int32(f.CPU))
	return v
}

// alternatives fills in the members among which a hash may have chosen.
func (g *Engine) alternatives(v *Verdict, sock demux.SockID, cpu int32) {
	view := g.e.View()
	if s := view.Sock(sock); sock != 0 && s.Alive() && s.Group != 0 {
		group := view.Group(int(s.Group - 1))
		for _, id := range group.Members() {
			v.Peers = append(v.Peers, view.Name(id))
		}
		if v.By == demux.ByNone && v.Path == demux.PathEarly && s.Flags&(demux.Connected|demux.IsUDP) == demux.IsUDP && group.Prog == nil {
			v.Group, v.By = s.Group, demux.ByHash // a multicast receiver found early stands for its group
		}
	}
	if v.Group == 0 || v.By == demux.ByProgram || v.By == demux.ByNone {
		return
	}
	for _, id := range view.Group(int(v.Group - 1)).Members() {
		m := view.Sock(id)
		if !m.Has(demux.Connected) && (v.By != demux.ByCPU || m.IncomingCPU == cpu) {
			v.Any = append(v.Any, view.Name(id))
			v.Wild = m.Laddr.IsAny() && v.Path == demux.PathListener // rules pass the address that was asked
		}
	}
	sort.Strings(v.Any)
}
