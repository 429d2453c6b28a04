package demux

import "edemux/flowtable"

// TCPListener is __inet_lookup_listener and inet6_lookup_listener: rules, then
// listeners of the exact address, then those of the wildcard. The caller has
// searched the established table before.
func (v *View) TCPListener(q *Query) Result {
	if v.rules != nil {
		if r := v.ruleLookup(q); r.Sock != 0 {
			return r
		}
	}
	if ref := v.tcp.find(&v.socks, canonical(q.Daddr), q.Dport); ref != 0 {
		if r := v.scanTCP(ref, q, haveOwn); r.Sock != 0 {
			return r
		}
	}
	if ref := v.tcp.find(&v.socks, flowtable.Any6, q.Dport); ref != 0 {
		return v.scanTCP(ref, q, haveWild)
	}
	return Result{}
}

// scanTCP is inet_lhash2_lookup and its IPv6 twin: strictly better scores win,
// and a group that chooses ends the scan at once - also when a device-bound
// listener behind it would score higher.
func (v *View) scanTCP(ref uint32, q *Query, bit uint8) Result {
	if ref&chainMark == 0 {
		e := entOf(ref, v.socks.at(ref))
		if e.score(q, v.TCPL3mdevAccept) <= 0 {
			return Result{}
		}
		return v.tcpTake(&e, q, bit)
	}
	var c cursor
	c.open(v.tcp.multi.at(ref&^chainMark), q)
	best := 0
	var res Result
	for e := c.next(); e != nil; e = c.next() {
		n := e.score(q, v.TCPL3mdevAccept)
		if n <= best {
			continue
		}
		res, best = v.tcpTake(e, q, bit), n
		if res.Group != 0 {
			break
		}
	}
	return res
}

// tcpTake is inet_lookup_reuseport: the group's choice, else the socket itself.
func (v *View) tcpTake(e *ent, q *Query, bit uint8) Result {
	if e.group != 0 {
		if r := v.pick(e.group, q, bit); r.Sock != 0 {
			r.Path = PathListener
			return r
		}
	}
	return Result{Sock: e.sock, Path: PathListener}
}

// ruleLookup is the sk_lookup hook: the first rule that matches names a
// socket, which bpf_sk_assign takes when it listens or is unconnected and its
// family fits; a group then chooses. Otherwise the normal lookup goes on.
func (v *View) ruleLookup(q *Query) Result {
	id := v.rules.match(q)
	if id == 0 {
		return Result{}
	}
	s := v.Sock(id)
	if !assignable(s, q) {
		return Result{}
	}
	if s.Group != 0 {
		if r := v.pick(s.Group, q, haveOwn); r.Sock != 0 {
			r.Path = PathRule
			return r
		}
	}
	return Result{Sock: id, Path: PathRule}
}

// assignable is what bpf_sk_lookup_assign checks.
func assignable(s *Sock, q *Query) bool {
	if !s.Alive() || s.Proto() != q.Proto {
		return false
	}
	if q.Proto == TCP && s.Flags&Listening == 0 || s.Flags&Connected != 0 {
		return false
	}
	if q.V6 {
		return s.Flags&IsV6 != 0
	}
	return s.Flags&(IsV6|V6Only) != IsV6|V6Only
}
