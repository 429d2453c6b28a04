package demux

import (
	"slices"

	"edemux/flowtable"
)

// primary is what multicast needs of the kernel's slot of one port: up to ten
// sockets it is scanned in its order (portSocks.each); beyond that it is not.
type primary struct {
	n   uint32
	ids [primaryMax]SockID
}

// primaryMax is the length up to which the kernel scans a port's slot.
const primaryMax = 10

// portSocks returns the sockets of a port in slot order and how many there
// are; the list is only complete up to primaryMax.
func (v *View) portSocks(port uint16, one *[1]SockID) ([]SockID, uint32) {
	p := v.prim.get(uint32(port))
	if p == nil || *p == 0 {
		return nil, 0
	}
	if *p&chainMark == 0 {
		one[0] = *p
		return one[:], 1
	}
	m := v.prims.at(*p &^ chainMark)
	return m.ids[:min(m.n, primaryMax)], m.n
}

// McastEarly is __udp4_lib_mcast_demux_lookup: the only receiver of an IPv4
// multicast datagram, found early when at most ten sockets use the port. An
// unconnected one stands for its group, as inet_steal_sock lets it choose anew.
// The gate of udp_v4_early_demux is included: the group must be joined on the
// device dif (in a VRF that is the VRF device, so joins on its interfaces do
// not count), except where every address is local.
func (v *View) McastEarly(q *Query) Result {
	if !v.VRFs[q.VRF].every && q.Daddr != allHosts && !v.McastMember(q.Dif, q) {
		return Result{}
	}
	var one [1]SockID
	ids, n := v.portSocks(q.Dport, &one)
	if n > primaryMax {
		return Result{}
	}
	var found SockID
	for _, id := range ids {
		if v.mcastMatch(id, q) {
			if found != 0 {
				return Result{}
			}
			found = id
		}
	}
	if found == 0 {
		return Result{}
	}
	s := v.socks.at(found)
	if s.Flags&Connected == 0 && s.Group != 0 {
		if r := v.pick(s.Group, q, haveOwn); r.Sock != 0 {
			r.Path = PathEarly
			return r
		}
	}
	return Result{Sock: found, Path: PathEarly}
}

// McastSocks is __udp4_lib_mcast_deliver and __udp6_lib_mcast_deliver: every
// socket that gets a copy of a multicast or broadcast datagram, appended to buf
// in the order of delivery (the first match gets the original, last).
func (v *View) McastSocks(q *Query, buf []SockID) []SockID {
	var one [1]SockID
	from := len(buf)
	if ids, n := v.portSocks(q.Dport, &one); n <= primaryMax {
		for _, id := range ids {
			if v.mcastMatch(id, q) {
				buf = append(buf, id)
			}
		}
	} else {
		a := canonical(q.Daddr)
		buf = v.mcastChain(a, q, buf)
		if a != flowtable.Any6 {
			buf = v.mcastChain(flowtable.Any6, q, buf)
		}
	}
	if got := buf[from:]; len(got) > 1 {
		first := got[0]
		copy(got, got[1:])
		got[len(got)-1] = first
	}
	return buf
}

// mcastChain appends the receivers in one chain, in its order.
func (v *View) mcastChain(a flowtable.Addr, q *Query, buf []SockID) []SockID {
	ref := v.udp.find(&v.socks, a, q.Dport)
	if ref == 0 {
		return buf
	}
	if ref&chainMark == 0 {
		if v.mcastMatch(ref, q) {
			buf = append(buf, ref)
		}
		return buf
	}
	m := v.udp.multi.at(ref &^ chainMark)
	from := len(buf)
	for _, id := range m.all {
		if v.mcastMatch(id, q) {
			buf = append(buf, id)
		}
	}
	if m.nconn == 0 {
		return buf
	}
	k := flowtable.KeyOf(q.Saddr, m.laddr, q.Sport, q.Dport)
	for p := v.conn.probe(hashTuple(&k)); ; {
		id := p.next()
		if id == 0 {
			break
		}
		if v.socks.at(id).Key() == k && v.mcastMatch(id, q) {
			buf = v.placeID(buf, from, id)
		}
	}
	return buf
}

// placeID inserts id into buf[from:], which is in chain order.
func (v *View) placeID(buf []SockID, from int, id SockID) []SockID {
	o := v.socks.at(id).order
	buf = append(buf, id)
	i := len(buf) - 1
	for ; i > from && v.socks.at(buf[i-1]).order > o; i-- {
		buf[i] = buf[i-1]
	}
	buf[i] = id
	return buf
}

// mcastMatch is __udp_is_mcast_sock and __udp_v6_is_mcast_sock.
func (v *View) mcastMatch(id SockID, q *Query) bool {
	s := v.socks.at(id)
	if s.Flags&Connected != 0 && (s.Faddr != q.Saddr || s.Fport != q.Sport) {
		return false
	}
	if !boundEq(v.UDPL3mdevAccept, s.Bdi, q.Dif, q.Sdif) {
		return false
	}
	if q.V6 {
		if s.Flags&IsV6 == 0 || s.Laddr != flowtable.Any6 && s.Laddr != q.Daddr ||
			q.ZeroCsum && s.Flags&NoCheck6Rx == 0 {
			return false
		}
	} else if s.Flags&V6Only != 0 || !s.wild() && s.Laddr != q.Daddr {
		return false
	}
	return v.sourceAllowed(id, s, q)
}

// sourceAllowed is ip_mc_sf_allow and inet6_mc_check: a membership decides by
// its source list, without one IP_MULTICAST_ALL does. IPv6 does not ask on
// which interface the socket joined.
func (v *View) sourceAllowed(id SockID, s *Sock, q *Query) bool {
	if !IsMulticast(q.Daddr) {
		return true
	}
	if s.Flags&HasJoins != 0 {
		joins := v.Info(id).Joins
		for i := range joins {
			j := &joins[i]
			if j.Group != q.Daddr || !q.V6 && j.Ifindex != q.Dif && (q.Sdif == 0 || j.Ifindex != q.Sdif) {
				continue
			}
			return len(j.Include) == 0 || slices.Contains(j.Include, q.Saddr)
		}
	}
	// inet6_create leaves IP_MULTICAST_ALL off: an AF_INET6 socket gets IPv4
	// groups by membership only.
	return s.Flags&McastNotAll == 0 && (q.V6 || s.Flags&IsV6 == 0)
}

// allHosts is joined on every interface.
var allHosts = flowtable.V4(0xe0000001)

// IsMulticast reports whether a is in 224.0.0.0/4 or ff00::/8.
func IsMulticast(a flowtable.Addr) bool {
	return a.Hi>>56 == 0xff || a.Is4() && a.As4()>>28 == 0xe
}
