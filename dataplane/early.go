package dataplane

import (
	"sync/atomic"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// earlyDemux is ip_rcv_finish_core and ip6_rcv_finish_core up to the route:
// look for the flow before routing when the gates allow it. The switches are
// those of the packet's VRF, read from the view that the burst loaded, so one
// burst sees one position of each switch.
func (l *Lcore) earlyDemux(p *pkt) {
	proto, why := earlyGate(p.m, &p.vrf.Sysctl)
	if why != tried {
		p.vc.NotTried[why]++
		return
	}
	c := &p.vc.Early[proto]
	var found bool
	if proto == EarlyTCP {
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

// tried says that no gate held early demux back.
const tried = NNotTried

// earlyGate applies the gates in the kernel's order and says which protocol's
// early demux to run. It has no state, so that the prefetch stage asks it too.
func earlyGate(m *packet.Meta, s *demux.Sysctl) (proto int, why NotTried) {
	if !s.IPEarlyDemux {
		return 0, NotTriedDisabled
	}
	next := m.NextHdr
	if m.IPVer == 4 {
		next = m.Proto
		if m.Has(packet.Fragment) {
			return 0, NotTriedFragment
		}
	}
	switch next {
	case demux.TCP:
		if !s.TCPEarlyDemux {
			return 0, NotTriedDisabled
		}
		if m.PktType != packet.Host {
			return 0, NotTriedPktType
		}
		if !m.Has(packet.HasTCP) {
			return 0, NotTriedProto // no whole TCP header, doff below 5
		}
		return EarlyTCP, tried
	case demux.UDP:
		if !s.UDPEarlyDemux {
			return 0, NotTriedDisabled
		}
		if m.PktType != packet.Host && m.PktType != packet.Multicast {
			return 0, NotTriedPktType
		}
		if !m.Has(packet.HasPorts) {
			return 0, NotTriedProto
		}
		return EarlyUDP, tried
	}
	if m.Has(packet.FragHdr) {
		return 0, NotTriedFragment
	}
	if m.Has(packet.Exthdr) {
		return 0, NotTriedExthdr
	}
	return 0, NotTriedProto
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
		if !l.view.McastMember(p.q.Dif, &p.q) {
			return false
		}
		p.sock = l.view.McastEarly(&p.q).Sock
	case l.view.MatchExact:
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

// restamp records on the flow or connected socket that the route was looked up
// under the present FIB: inet_sk_rx_dst_set.
func (l *Lcore) restamp(p *pkt) {
	if p.sock != 0 {
		atomic.StoreUint32(&l.st.rxDst[p.sock], p.stamp)
	}
	p.flow.FibGen = p.stamp // stored with the state change of the TCP flow
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

// otherHost is eth_type_trans: unicast to a MAC that is not the port's.
func (l *Lcore) otherHost(p *pkt) bool {
	port := &l.st.ports[p.f.Port]
	if !port.Known || p.m.PktType != packet.Host {
		return false
	}
	mac, ok := packet.DstMAC(p.f)
	return ok && mac != port.MAC
}

// sentByPort reports whether the Ethernet source is the port's own MAC.
func (l *Lcore) sentByPort(p *pkt) bool {
	port := &l.st.ports[p.f.Port]
	if !port.Known {
		return false
	}
	mac, ok := packet.SrcMAC(p.f)
	return ok && mac == port.MAC
}

// countReceived bumps what ip_rcv_core counts before any check.
func (l *Lcore) countReceived(p *pkt) {
	mibs := &l.c.MIB
	mibs[p.fam.inReceives]++
	mibs[p.fam.inOctets] += uint64(p.m.L3Len)
	if p.m.Reason == mib.NotDropped {
		mibs[p.fam.ect[p.m.TOS&3]]++
	}
}
