package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// Walk carries one burst from the wire to the workers. Only the owning thread
// calls it. now is the clock of packets that bring no time of their own; zero
// in replay, where each packet's capture time is the clock.
func (l *Lcore) Walk(b *Burst, now int64) {
	l.begin(b)
	l.parse(b)    // ip_rcv_core, ip6_rcv_core: bytes only
	l.ingress(b)  // port and tags to interface, gates of early demux
	l.prefetch(b) // hash what early demux will probe, touch its bucket
	l.watch(b)    // flight recorder and live captures, where they are on
	for i := range b.N {
		l.packet(b, i, now)
		if !l.lookAhead {
			l.upkeep(packetBudget)
		}
	}
	l.tell(b)
	l.end()
}

// packet takes one packet through the kernel's receive path.
func (l *Lcore) packet(b *Burst, i int, now int64) {
	p := &l.p
	p.start(l, b, i, now)
	if !l.receive(p) { // direction, VRF, header checks: ip_rcv_core, l3mdev_ip_rcv
		return
	}
	l.earlyDemux(p)        // ip_rcv_finish_core
	if !l.routeInput(p) || // ip_route_input_noref, unless a hit brought a valid route
		!l.ipOptions(p) || // ip_rcv_options; IPv6 extension headers
		!l.defragment(p) { // ip_local_deliver
		return
	}
	switch p.m.Proto { // ip_protocol_deliver_rcu, with lookup and group selection
	case demux.TCP:
		l.tcp(p)
	case demux.UDP:
		l.udp(p)
	default:
		l.otherProto(p)
	}
}

// pkt is the packet in hand. One per lcore, reset for each packet.
type pkt struct {
	f       *packet.Frame
	m       *packet.Meta // of the frame, or of the datagram that it completed
	data    []byte       // bytes that m's offsets are into
	d       *Decision
	ifc     *demux.Iface
	gate    gate
	vrf     *demux.VRF
	vc      *VRFCounters
	fam     *familyMIB
	space   *flowtable.Space // table that ref is in
	ref     flowtable.Ref    // flow found; 0 = none
	flow    flowtable.Flow   // its contents, valid with ref
	now     int64
	stamp   uint32 // what a flow's route stamp must be to be valid
	sock    uint32 // connected UDP socket found early
	frame   int    // index in the burst
	len     uint64 // bytes to account to the worker
	route   demux.RouteType
	handler uint8 // protocol whose handler runs, 0 in the IP layer

	early     bool // found by early demux
	probed    bool // the flow table of the packet's VRF was searched
	haveRoute bool // a valid route came with the early hit
	lean      bool // found ahead: q is not filled, nothing needed it yet
	q         demux.Query
	b         *Burst
}

// start resets the packet in hand for frame i of b.
func (p *pkt) start(l *Lcore, b *Burst, i int, now int64) {
	f, m := &b.Frames[i], &b.Metas[i]
	p.f, p.m, p.d, p.data = f, m, &b.Dec[i], f.Data
	*p.d = Decision{Worker: -1, VRF: -1}
	p.ifc, p.gate, p.frame, p.len = b.ifaces[i], b.gates[i], i, uint64(f.WireLen)
	p.vrf, p.vc, p.space, p.ref = nil, &l.c.VRFs[0], nil, 0
	p.sock, p.early, p.probed, p.haveRoute, p.handler = 0, false, false, false, 0
	if now == 0 {
		now = f.TS
	}
	if now > l.now {
		l.advance(now)
	}
	p.now = l.now
	l.c.Frames++
	l.c.Bytes += uint64(f.WireLen)
	p.b, p.lean = b, false
	p.q.Reset()
}

// receive settles whether the packet is one for this host's IP layer: what
// the link layer, the direction and the header checks say. False: decided.
func (l *Lcore) receive(p *pkt) bool {
	m := p.m
	var sent, other bool
	if l.anyMAC {
		sent, other = l.linkHost(p)
	}
	if m.PktType == packet.Outgoing || sent {
		if l.localAuto != nil && m.Has(packet.HasTuple) {
			l.localAuto.Learn(m, true)
		}
		return l.egress(p)
	}
	if m.Punt == mib.LinkType {
		return l.punt(p, mib.LinkType)
	}
	if p.ifc == nil {
		return l.drop(p, mib.NoVRF)
	}
	p.vrf = &l.view.VRFs[p.ifc.VRF]
	p.vc = &l.c.VRFs[p.ifc.VRF+1]
	p.d.VRF = int16(p.ifc.VRF)
	if m.Punt != mib.NotPunted {
		return l.punt(p, m.Punt)
	}
	if (l.localAuto != nil || !p.vrf.EveryLocal()) && m.Has(packet.HasTuple) && l.outgoing(p) {
		return l.egress(p)
	}
	p.fam = &families[m.IPVer>>1&1]
	if m.PktType == packet.OtherHost || other {
		return l.drop(p, mib.OtherHost)
	}
	l.countReceived(p)
	if m.Reason != mib.NotDropped {
		return l.drop(p, m.Reason)
	}
	p.stamp = routeStamp(p.vrf.FibGen, p.ifc.Dif)
	return true
}

// fillQuery copies what the lookups need and rewrites the device as
// l3mdev_ip_rcv does: inside a VRF dif is the VRF and sdif the enslaved
// interface.
func (l *Lcore) fillQuery(p *pkt) {
	q, m := &p.q, p.m
	q.Saddr, q.Daddr, q.Sport, q.Dport = m.Saddr, m.Daddr, m.Sport, m.Dport
	q.Proto, q.V6 = m.Proto, m.IPVer == 6
	q.CPU, q.VRF = int32(p.f.CPU), p.ifc.VRF
	q.Dif, q.Sdif = p.ifc.Dif, p.ifc.Sdif
	q.NoFlow, q.NoProg = false, false
	if p.b.hashed[p.frame] {
		q.SetSum(p.b.sums[p.frame])
	}
}

// routeInput finds the input route unless early demux brought a valid one, and
// restamps what it found. False: the packet does not come to a socket here.
func (l *Lcore) routeInput(p *pkt) bool {
	if p.haveRoute {
		p.route = demux.RouteLocal
		return true
	}
	if p.lean {
		l.fillQuery(p)
		p.lean = false
	}
	p.route = l.view.RouteInput(&p.q)
	switch p.route {
	case demux.RouteLocal:
		l.restamp(p)
	case demux.RouteBroadcast:
		l.c.MIB[p.fam.inBcastPkts]++
		l.c.MIB[p.fam.inBcastOctets] += uint64(p.m.L3Len)
	case demux.RouteMulticast:
		l.countMcast(p)
	case demux.RouteNoMember:
		if p.q.V6 { // ip6_mc_input counts before it asks for members
			l.countMcast(p)
		}
		return l.dropUncounted(p, mib.IPInNoRoutes)
	case demux.RouteForward:
		if p.m.PktType != packet.Host { // ip_forward, ip6_forward
			return l.drop(p, mib.NotSpecified)
		}
		p.b.Forwards++
		return l.finish(p, mib.Forward)
	case demux.RouteMartianSource:
		return l.drop(p, mib.IPInvalidSource)
	case demux.RouteMartianDest:
		return l.drop(p, mib.IPInvalidDest)
	case demux.RouteLocalnet:
		return l.drop(p, mib.IPLocalnet)
	default:
		return l.drop(p, mib.IPInNoRoutes)
	}
	return true
}

// ipOptions drops what the IP layer finds wrong after routing: IPv4 options and
// IPv6 extension headers. Errors of the transport header wait for its handler.
func (l *Lcore) ipOptions(p *pkt) bool {
	switch r := p.m.L4Reason; r {
	case mib.IPInHdr, mib.IPv6BadExthdr:
		return l.drop(p, r)
	}
	return true
}

// otherProto ends packets of protocols without sockets here; ICMP errors go to
// the socket that they speak of.
func (l *Lcore) otherProto(p *pkt) {
	word, handler := mib.Proto, mib.NCounters
	switch p.m.Proto {
	case packet.ProtoICMP, packet.ProtoICMPv6:
		if (p.m.Proto == packet.ProtoICMPv6) == p.q.V6 {
			l.c.MIB[p.fam.inDelivers]++
			l.icmp(p)
			return
		}
	case packet.ProtoUDPLite:
		word, handler = mib.UDPLite, p.fam.inDelivers
	case packet.ProtoSCTP:
		word = mib.SCTP
	case packet.ProtoDCCP:
		word = mib.DCCP
	}
	if handler == mib.NCounters { // a kernel without the module
		handler = p.fam.inUnknownProtos
	}
	l.c.MIB[handler]++
	l.punt(p, word)
}

// countMcast is the account of ip_rcv_finish_core and ip6_mc_input.
func (l *Lcore) countMcast(p *pkt) {
	l.c.MIB[p.fam.inMcastPkts]++
	l.c.MIB[p.fam.inMcastOctets] += uint64(p.m.L3Len)
}
