package dataplane

import (
	"sync/atomic"

	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// earlyDemux is ip_rcv_finish_core and ip6_rcv_finish_core up to the route:
// look for the flow before routing when the gates allow it. The switches are
// those of the packet's VRF, read from the view that the burst loaded, so one
// burst sees one position of each switch.
func (l *Lcore) earlyDemux(p *pkt) {
	if p.gate.why == tried && p.b.socks[p.frame] != 0 {
		l.foundAhead(p)
		return
	}
	l.fillQuery(p)
	if p.gate.why != tried {
		p.vc.NotTried[p.gate.why]++
		return
	}
	c := &p.vc.Early[p.gate.proto]
	var found bool
	if p.gate.proto == EarlyTCP {
		c.Tried++
		found = l.tcpEarly(p)
	} else {
		if p.m.PktType == packet.Multicast && p.q.V6 {
			p.vc.NotTried[NotTriedPktType]++ // udp_v6_early_demux: PACKET_HOST only
			return
		}
		c.Tried++
		found = l.udpEarly(p)
	}
	if !found {
		return
	}
	c.Hit++
	p.early = true
	if p.haveRoute {
		c.Skipped++
	}
}

// foundAhead takes the connected UDP socket that the burst's lookups found.
// Only control code changes that table, so what was found ahead holds.
func (l *Lcore) foundAhead(p *pkt) {
	c := &p.vc.Early[EarlyUDP]
	c.Tried++
	c.Hit++
	p.sock, p.early, p.probed, p.lean = p.b.socks[p.frame], true, true, true
	p.q.Computed = 1
	if atomic.LoadUint32(&l.st.rxDst[p.sock]) == p.stamp {
		p.haveRoute = true
		c.Skipped++
	}
}

// tried says that no gate held early demux back.
const tried = NNotTried

// gate says which protocol's early demux to run, or why none.
type gate struct {
	proto uint8 // EarlyTCP or EarlyUDP
	why   NotTried
}

// earlyGate applies the gates in the kernel's order. It has no state: the burst
// is gated as a whole before the first decision.
func earlyGate(m *packet.Meta, s *demux.Sysctl) gate {
	if !s.IPEarlyDemux {
		return gate{0, NotTriedDisabled}
	}
	next := m.NextHdr
	if m.IPVer == 4 {
		next = m.Proto
		if m.Has(packet.Fragment) {
			return gate{0, NotTriedFragment}
		}
	}
	switch next {
	case demux.TCP:
		if !s.TCPEarlyDemux {
			return gate{0, NotTriedDisabled}
		}
		if m.PktType != packet.Host {
			return gate{0, NotTriedPktType}
		}
		if !m.Has(packet.HasTCP) {
			return gate{0, NotTriedProto} // no whole TCP header, doff below 5
		}
		return gate{EarlyTCP, tried}
	case demux.UDP:
		if !s.UDPEarlyDemux {
			return gate{0, NotTriedDisabled}
		}
		if m.PktType != packet.Host && m.PktType != packet.Multicast {
			return gate{0, NotTriedPktType}
		}
		if !m.Has(packet.HasPorts) {
			return gate{0, NotTriedProto}
		}
		return gate{EarlyUDP, tried}
	}
	if m.Has(packet.FragHdr) {
		return gate{0, NotTriedFragment}
	}
	if m.Has(packet.Exthdr) {
		return gate{0, NotTriedExthdr}
	}
	return gate{0, NotTriedProto}
}

// tcpEarly is tcp_v4_early_demux: the established table only. A full socket
// brings its route when that is still valid.
func (l *Lcore) tcpEarly(p *pkt) bool {
	if !l.probe(p, p.vrf, p.vrf.TCP, l.view.TCPL3mdevAccept) || !l.readFlow(p) {
		return false
	}
	p.haveRoute = p.flow.State == flowtable.Established && p.flow.FibGen == p.stamp
	return true
}

// udpEarly is udp_v4_early_demux: a connected socket, in linux mode only at the
// head of its (addr, port) chain; for IPv4 multicast the only receiver.
func (l *Lcore) udpEarly(p *pkt) bool {
	switch {
	case p.m.PktType == packet.Multicast:
		p.sock = l.view.McastEarly(l.program(p)).Sock
	case l.view.MatchExact:
		if p.b.looked[p.frame] {
			p.probed = true
			return false
		}
		if !l.probe(p, p.vrf, p.vrf.UDP, l.view.TCPL3mdevAccept) {
			return false
		}
		p.sock = p.flow.Sock
	default:
		p.sock = l.view.UDPEarly(&p.q)
	}
	if p.sock == 0 {
		return false
	}
	p.haveRoute = atomic.LoadUint32(&l.st.rxDst[p.sock]) == p.stamp
	return true
}

// probe searches one VRF's table for the flow of the packet in hand and sets
// p.ref and p.flow.Sock, which come from one cache line. A probe of the
// packet's own VRF is remembered: the full lookup does not repeat it.
func (l *Lcore) probe(p *pkt, vrf *demux.VRF, t *flowtable.Space, accept bool) bool {
	if vrf == p.vrf {
		p.probed = true
	}
	if t.Len() == 0 {
		return false
	}
	h := p.q.SumIn(vrf).Hash(p.q.Dport)
	k := flowtable.KeyOf(p.q.Saddr, p.q.Daddr, p.q.Sport, p.q.Dport)
	d := flowtable.Dev{Dif: p.q.Dif, Sdif: p.q.Sdif, Accept: accept}
	ref, sock := t.LookupSock(h, &k, d, p.now)
	if ref == 0 || int(sock) >= len(l.st.worker) { // opened since this burst began
		return false
	}
	p.ref, p.space, p.flow.Sock = ref, t, sock
	return true
}

// readFlow reads the state of the TCP flow that was found, which lies apart
// from its key. False: another lcore removed it meanwhile.
func (l *Lcore) readFlow(p *pkt) bool {
	f, ok := p.space.Get(p.ref)
	if !ok {
		p.ref = 0
		return false
	}
	p.flow = f
	return true
}

// findFlow is __inet_lookup_established for the full lookup: the packet's own
// VRF unless early demux searched it, then default's table where the l3mdev
// sysctl lets unbound sockets take traffic of VRFs.
func (l *Lcore) findFlow(p *pkt, own, def *flowtable.Space) bool {
	if p.ref != 0 {
		return true
	}
	accept := l.view.TCPL3mdevAccept // UDP too: inet_match asks the TCP sysctl
	if !p.probed && l.probe(p, p.vrf, own, accept) {
		return true
	}
	return accept && p.vrf.Index != 0 && def != own && l.probe(p, &l.view.VRFs[0], def, accept)
}

// restamp records on the connected socket that early demux found that its route
// was looked up under the present FIB: udp_sk_rx_dst_set. TCP flows are stamped
// with their next state (tcpAdvance).
func (l *Lcore) restamp(p *pkt) {
	if p.sock != 0 {
		atomic.StoreUint32(&l.st.rxDst[p.sock], p.stamp)
	}
}

// routeStamp names a route result: the VRF's FIB generation and the device,
// as sk_rx_dst_ifindex is checked. Never 0. The generation has 20 bits.
func routeStamp(gen uint32, dif uint32) uint32 {
	return gen<<12 | dif&0xfff | 1<<31
}

// outgoing reports whether the packet leaves this host by its addresses: the
// guess of --local auto where the capture does not tell, or a local source with
// a destination that is not.
func (l *Lcore) outgoing(p *pkt) bool {
	if l.localAuto != nil {
		if directionKnown(p.f) {
			l.localAuto.Learn(p.m, false)
			return false
		}
		return l.localAuto.Outgoing(p.m)
	}
	return l.view.Outgoing(p.ifc.VRF, p.m.Saddr, p.m.Daddr)
}

// directionKnown reports whether the capture says which way the frame went:
// cooked captures by their packet type, pcapng by its flags.
func directionKnown(f *packet.Frame) bool {
	return f.Dir != packet.DirUnknown || f.Link == packet.LinkSLL || f.Link == packet.LinkSLL2
}

// linkHost is eth_type_trans for a port whose MAC is known: unicast to another
// MAC is another host's, and what bears the port's own as source was sent by it.
func (l *Lcore) linkHost(p *pkt) (sent, other bool) {
	port := &l.st.ports[p.f.Port]
	if !port.Known {
		return false, false
	}
	src, ok := packet.SrcMAC(p.f)
	if sent = ok && src == port.MAC; sent {
		return sent, false
	}
	dst, ok := packet.DstMAC(p.f)
	return false, ok && dst != port.MAC && p.m.PktType == packet.Host
}

// countReceived bumps what ip_rcv_core counts before any check.
func (l *Lcore) countReceived(p *pkt) {
	mibs := &l.c.MIB
	mibs[p.fam.inReceives]++
	mibs[p.fam.inOctets] += uint64(p.f.WireLen - min(p.m.L3, p.f.WireLen)) // trailer included
	if p.m.Has(packet.HasTuple) {                                          // version and header length fit; what else is wrong is found later
		mibs[p.fam.ect[p.m.TOS&3]]++
	}
}
