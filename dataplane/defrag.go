package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/reasm"
)

// defragment is ip_defrag at local delivery, and the IPv6 fragment header's
// handler: fragments are held until their datagram is whole; the completing
// one goes on as the datagram. False: decided.
func (l *Lcore) defragment(p *pkt) bool {
	if !p.m.Has(packet.Fragment) {
		if p.m.Has(packet.FragHdr) { // an atomic fragment: whole as it is
			l.c.MIB[p.fam.reasmReqds]++
			l.c.MIB[p.fam.reasmOKs]++
		}
		return true
	}
	mibs := &l.c.MIB
	mibs[p.fam.reasmReqds]++
	l.fragment = reasm.Fragment{Frame: p.f, Meta: p.m, Now: p.now, Dev: p.ifc.Index, VRF: p.ifc.VRF}
	r := l.reasm.Add(&l.fragment, &l.whole)
	mibs[p.fam.reasmFails] += uint64(r.Failed)
	mibs[p.fam.reasmTimeout] += uint64(r.TimedOut)
	if !p.q.V6 {
		mibs[mib.IpExtReasmOverlaps] += uint64(r.Overlaps)
	}
	switch r.Outcome {
	case reasm.Held:
		return l.finish(p, mib.Hold)
	case reasm.Dropped:
		return l.drop(p, r.Reason)
	}
	mibs[p.fam.reasmOKs]++
	m := &l.whole.Meta
	packet.ParseDatagram(r.Datagram, r.WireLen, &l.parseOptions, m)
	p.m, p.data, p.len = m, r.Datagram, uint64(r.WireLen)
	p.q.Sport, p.q.Dport, p.q.Proto = p.m.Sport, p.m.Dport, p.m.Proto
	forgetHash(&p.q)
	if m.Reason != mib.NotDropped {
		return l.drop(p, m.Reason)
	}
	return l.ipOptions(p)
}
