package demux

import (
	"net/netip"
	"slices"

	"edemux/flowtable"
)

// RouteType is what an input route says of a packet.
type RouteType uint8

const (
	RouteNone          RouteType = iota // no route: IP_INNOROUTES
	RouteLocal                          // delivered here
	RouteBroadcast                      // IPv4 broadcast, delivered here
	RouteMulticast                      // multicast group joined on the device
	RouteNoMember                       // multicast group that nobody joined on the device
	RouteForward                        // leads elsewhere
	RouteMartianSource                  // IP_INVALID_SOURCE
	RouteMartianDest                    // IP_INVALID_DEST
	RouteLocalnet                       // IP_LOCALNET: a loopback address off the loopback device
)

var routeNames = [...]string{"none", "local", "broadcast", "multicast", "no-member", "forward",
	"martian-source", "martian-dest", "localnet"}

// String is the word that explain uses.
func (t RouteType) String() string { return routeNames[t] }

const lbcast = 0xffffffff // 255.255.255.255

// RouteInput is ip_route_input_noref and ip6_route_input for a packet that came
// in on Iface q.Sdif (q.Dif when that is 0), with rp_filter 0 and accept_local 1.
func (v *View) RouteInput(q *Query) RouteType {
	vrf := &v.VRFs[q.VRF]
	if q.V6 {
		return v.routeInput6(vrf, q)
	}
	s, d := q.Saddr.As4(), q.Daddr.As4()
	if d>>28 == 0xe {
		return v.mcastInput4(vrf, q)
	}
	switch {
	case s>>28 == 0xe || s == lbcast:
		return RouteMartianSource
	case d == lbcast || s == 0 && d == 0:
		return RouteBroadcast
	case s == 0:
		return RouteMartianSource
	case d == 0:
		return RouteMartianDest
	case (d>>24 == 127 || s>>24 == 127) && !v.loopbackOK(vrf, q, d>>24 == 127):
		return RouteLocalnet
	}
	return vrf.fib(q.Daddr)
}

// mcastInput4 is the multicast branch of ip_route_input_rcu with
// ip_mc_validate_source.
func (v *View) mcastInput4(vrf *VRF, q *Query) RouteType {
	s, d := q.Saddr.As4(), q.Daddr.As4()
	if !v.mcastInput(vrf, q) {
		return RouteNoMember
	}
	switch {
	case s>>28 == 0xe || s == lbcast:
		return RouteMartianSource
	case s>>24 == 127 && !v.loopbackOK(vrf, q, false):
		return RouteLocalnet
	case s == 0 && d>>8 != 0xe00000: // 224.0.0.0/24 may come from 0.0.0.0
		return RouteMartianSource
	}
	return RouteMulticast
}

// routeInput6 judges the addresses as ip6_rcv_core does (those checks need the
// device, so they are not the parser's) and then routes.
func (v *View) routeInput6(vrf *VRF, q *Query) RouteType {
	s, d := q.Saddr, q.Daddr
	loop := flowtable.Addr{Lo: 1}
	switch {
	case s.Hi>>56 == 0xff:
		return RouteMartianSource
	case s == loop && !v.loopbackOK(vrf, q, false):
		return RouteMartianSource
	case d == loop && !v.loopbackOK(vrf, q, true):
		return RouteMartianDest
	}
	if d.Hi>>56 != 0xff {
		return vrf.fib(d)
	}
	if scope := d.Hi >> 48 & 15; scope == 0 || scope == 1 && !v.onLoopback(q) {
		return RouteMartianDest // RFC 4291 2.7, errata 3480
	}
	if v.mcastInput(vrf, q) {
		return RouteMulticast
	}
	return RouteNoMember
}

// onLoopback reports whether the packet came in on a loopback device.
func (v *View) onLoopback(q *Query) bool {
	i := v.Iface(ingress(q))
	return i != nil && i.Loopback
}

// loopbackOK reports whether a packet with a loopback source or destination is
// acceptable: on a loopback device, where every address is local, or where the
// configuration names the loopback prefix as local.
func (v *View) loopbackOK(vrf *VRF, q *Query, dest bool) bool {
	if vrf.every || v.onLoopback(q) {
		return true
	}
	a := q.Saddr
	if dest {
		a = q.Daddr
	}
	return vrf.local.Lookup(toNetip(a))
}

// ingress is the ifindex of the interface that the packet came in on.
func ingress(q *Query) uint32 {
	if q.Sdif != 0 {
		return q.Sdif
	}
	return q.Dif
}

// fib looks up a unicast destination: addresses that are local or broadcast
// here come first, as the local table does, then the longest prefix.
func (r *VRF) fib(d flowtable.Addr) RouteType {
	if len(r.broadcast) != 0 && slices.Contains(r.broadcast, d) {
		return RouteBroadcast
	}
	if r.every {
		return RouteLocal
	}
	ip := toNetip(d)
	if r.local.Lookup(ip) {
		return RouteLocal
	}
	if r.routes != nil {
		if _, ok := r.routes.Lookup(ip); ok {
			return RouteForward
		}
	}
	return RouteNone
}

// Route returns the route for d that is not local.
func (r *VRF) Route(d flowtable.Addr) (Nhop, bool) {
	if r.routes == nil {
		return Nhop{}, false
	}
	return r.routes.Lookup(toNetip(d))
}

// Local reports whether a unicast address is delivered here.
func (r *VRF) Local(a flowtable.Addr) bool { return r.every || r.local.Lookup(toNetip(a)) }

// EveryLocal reports whether no local addresses are configured.
func (r *VRF) EveryLocal() bool { return r.every }

// Outgoing reports whether the addresses say that a packet leaves this host:
// its source is local to VRF vrf and its destination is not. Where every
// address is local nothing is outgoing.
func (v *View) Outgoing(vrf uint16, saddr, daddr flowtable.Addr) bool {
	r := &v.VRFs[vrf]
	if r.every || !r.local.Lookup(toNetip(saddr)) {
		return false
	}
	return !r.local.Lookup(toNetip(daddr))
}

// toNetip converts without the detour through 16 bytes for IPv4.
func toNetip(a flowtable.Addr) netip.Addr {
	if a.Is4() {
		w := a.As4()
		return netip.AddrFrom4([4]byte{byte(w >> 24), byte(w >> 16), byte(w >> 8), byte(w)})
	}
	return a.Netip()
}

// member names a multicast group on a device.
type member struct {
	ifindex uint32
	group   flowtable.Addr
	source  flowtable.Addr // the zero Addr: any source
}

// mcastInput is the membership test of a multicast route: ip_check_mc_rcu on
// the interface and then on its L3 master, ipv6_chk_mcast_addr. A VRF without
// configured addresses takes every group, as it takes every address.
func (v *View) mcastInput(vrf *VRF, q *Query) bool {
	if vrf.every || q.Daddr == allHosts ||
		q.V6 && q.Daddr.Lo == 1 && (q.Daddr.Hi == 0xff02<<48 || q.Daddr.Hi == 0xff01<<48) {
		return true
	}
	return v.McastMember(q.Sdif, q) || v.McastMember(q.Dif, q)
}

// McastMember reports whether a socket joined the query's group on the device
// with that ifindex, for this source: ip_check_mc_rcu.
func (v *View) McastMember(ifindex uint32, q *Query) bool {
	if len(v.members) == 0 {
		return false
	}
	m := member{ifindex: ifindex, group: q.Daddr}
	if v.members[m] != 0 {
		return true
	}
	m.source = q.Saddr
	return v.members[m] != 0
}
