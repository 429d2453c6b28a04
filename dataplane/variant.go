package dataplane

import "edemux/demux"

// Variant is a walk that the product does not take. Benchmarks compare it with
// Walk, in the same engine and on the same tables; nothing else calls it.
type Variant uint8

const (
	// LikeLinux looks packets up one by one, without hashing or prefetching
	// ahead, and searches the flow table again, hash included, when early demux
	// missed: ip_rcv_finish_core and then __inet_lookup_established.
	LikeLinux Variant = 1 << iota
	// NoEarlyDemux has no early demux at all: no switch, no gate, no probe.
	NoEarlyDemux
	// EagerHash computes the flow hash before the socket lookup whether or not
	// a group needs it, as inet_lookup_reuseport and its UDP twin do.
	EagerHash
)

// WalkVariant is Walk for one variant.
func (l *Lcore) WalkVariant(b *Burst, now int64, v Variant) {
	l.begin(b)
	l.parse(b)
	l.ingress(b)
	if v&(LikeLinux|NoEarlyDemux) == 0 {
		l.prefetch(b)
	} else {
		clear(b.hashed[:b.N])
		clear(b.socks[:b.N])
		clear(b.looked[:b.N])
	}
	for i := range b.N {
		l.packetVariant(b, i, now, v)
		if !l.lookAhead {
			l.upkeep(packetBudget)
		}
	}
	l.end()
}

// packetVariant is packet for one variant.
func (l *Lcore) packetVariant(b *Burst, i int, now int64, v Variant) {
	p := &l.p
	p.start(l, b, i, now)
	if !l.receive(p) {
		return
	}
	if v&NoEarlyDemux == 0 {
		l.earlyDemux(p)
	} else {
		l.fillQuery(p)
	}
	if v&LikeLinux != 0 && !p.early {
		p.probed = false
		p.q.Reset()
	}
	if !l.routeInput(p) || !l.ipOptions(p) || !l.defragment(p) {
		return
	}
	if v&EagerHash != 0 {
		p.q.SumIn(p.vrf)
	}
	switch p.m.Proto {
	case demux.TCP:
		l.tcp(p)
	case demux.UDP:
		l.udp(p)
	default:
		l.otherProto(p)
	}
}
