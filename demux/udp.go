package demux

import "edemux/flowtable"

// UDPLookup is __udp4_lib_lookup and __udp6_lib_lookup: the four-tuple table
// (unless q.NoFlow says that the caller searched it), the exact address, rules,
// the wildcard. The kernel's last resort, a search of the port's slot, only
// covers a race that a View does not have.
func (v *View) UDPLookup(q *Query) Result {
	if !q.NoFlow && v.conn.live != 0 {
		k := flowtable.KeyOf(q.Saddr, q.Daddr, q.Sport, q.Dport)
		if id := v.Connected(&k, q.V6, q.Dif, q.Sdif, v.TCPL3mdevAccept); id != 0 {
			return Result{Sock: id, Path: PathEstablished}
		}
	}
	var r Result
	if ref := v.udp.find(&v.socks, canonical(q.Daddr), q.Dport); ref != 0 {
		if r = v.scanUDP(ref, q, haveOwn); r.Path == PathEstablished {
			return r
		}
	}
	if v.rules != nil {
		if rr := v.ruleLookup(q); rr.Sock != 0 {
			return rr
		}
	}
	if r.Sock != 0 {
		return r
	}
	if ref := v.udp.find(&v.socks, flowtable.Any6, q.Dport); ref != 0 {
		return v.scanUDP(ref, q, haveWild)
	}
	return Result{}
}

// UDPError is the lookup of udp_err and udpv6_err for the datagram embedded in
// an ICMP error: a full lookup with the roles swapped (the query's daddr is the
// embedded source) and without a packet, so that programs do not run.
func (v *View) UDPError(q *Query) Result {
	q.NoProg = true
	r := v.UDPLookup(q)
	if r.Sock != 0 {
		r.Path = PathICMP
	}
	return r
}

// scanUDP is udp4_lib_lookup2 and udp6_lib_lookup2.
func (v *View) scanUDP(ref uint32, q *Query, bit uint8) Result {
	st := udpScan{best: 0}
	if q.V6 {
		st.best = -1 // a plain IPv6 socket scores 0
	}
	if ref&chainMark == 0 {
		s := v.socks.at(ref)
		if s.Flags&Connected != 0 && (s.Faddr != q.Saddr || s.Fport != q.Sport) {
			return Result{}
		}
		e := entOf(ref, s)
		v.udpTry(&st, &e, q, bit)
		return v.udpPath(st.res)
	}
	m := v.udp.multi.at(ref &^ chainMark)
	var c cursor
	c.open(m, q)
	if m.nconn != 0 {
		return v.scanConnected(&c, m, st, q, bit)
	}
	for e := c.next(); e != nil; e = c.next() {
		if v.udpTry(&st, e, q, bit) {
			break
		}
	}
	return v.udpPath(st.res)
}

// scanConnected is scanUDP for a chain that holds connected sockets: those with
// the packet's remote take their places among the others.
func (v *View) scanConnected(c *cursor, m *chain, st udpScan, q *Query, bit uint8) Result {
	var buf [maxClasses]ent // never stored elsewhere: it stays on the stack
	conns := v.connEnts(m, q, buf[:0])
	for e := c.next(); e != nil; e = c.next() {
		for len(conns) > 0 && conns[0].order < e.order {
			v.udpTry(&st, &conns[0], q, bit)
			conns = conns[1:]
		}
		if v.udpTry(&st, e, q, bit) {
			return v.udpPath(st.res)
		}
	}
	for i := range conns {
		v.udpTry(&st, &conns[i], q, bit)
	}
	return v.udpPath(st.res)
}

// maxClasses bounds the connected sockets of one remote that can win: two
// families, two scores for the CPU, three devices.
const maxClasses = 12

// connEnts collects the connected sockets of chain m whose remote is the
// packet's and that can win, in chain order.
func (v *View) connEnts(m *chain, q *Query, buf []ent) []ent {
	k := flowtable.KeyOf(q.Saddr, m.laddr, q.Sport, q.Dport)
	for p := v.conn.probe(hashTuple(&k)); ; {
		id := p.next()
		if id == 0 {
			return buf
		}
		s := v.socks.at(id)
		if s.Key() != k {
			continue
		}
		e := entOf(id, s)
		if e.score(q, v.UDPL3mdevAccept) >= 0 {
			buf = placeEnt(buf, e, q)
		}
	}
}

// placeEnt inserts e in chain order. Of two with the same score and device the
// one nearer the head stays.
func placeEnt(buf []ent, e ent, q *Query) []ent {
	for i := range buf {
		o := &buf[i]
		if o.bdi == e.bdi && o.score(q, true) == e.score(q, true) {
			if o.order < e.order {
				return buf
			}
			buf = append(buf[:i], buf[i+1:]...)
			break
		}
	}
	if len(buf) == cap(buf) {
		return buf
	}
	i := len(buf)
	buf = append(buf, e)
	for ; i > 0 && buf[i-1].order > e.order; i-- {
		buf[i] = buf[i-1]
	}
	buf[i] = e
	return buf
}

// udpScan is the state of one scan.
type udpScan struct {
	best int // "badness"
	res  Result
}

// udpTry is one step of the scan. True: the scan ends here, because a group
// without connected members chose.
func (v *View) udpTry(st *udpScan, e *ent, q *Query, bit uint8) bool {
	n := e.score(q, v.UDPL3mdevAccept)
	if n <= st.best {
		return false
	}
	st.best = n
	if e.conn || e.group == 0 {
		st.res = Result{Sock: e.sock}
		return false
	}
	r := v.pick(e.group, q, bit)
	if r.Sock == 0 {
		st.res = Result{Sock: e.sock}
		return false
	}
	st.res = r
	if !v.groups[e.group-1].hasConns {
		return true
	}
	// A connected socket with a strictly higher score may still win.
	if n := v.udpScore(r.Sock, q, bit); n > st.best {
		st.best = n
	}
	return false
}

// udpScore is compute_score of one socket, for the rescoring after a selection.
func (v *View) udpScore(id SockID, q *Query, bit uint8) int {
	s := v.socks.at(id)
	if s.Flags&Connected != 0 && (s.Faddr != q.Saddr || s.Fport != q.Sport) {
		return -1
	}
	want := canonical(q.Daddr)
	if bit == haveWild {
		want = flowtable.Any6
	}
	if canonical(s.Laddr) != want {
		return -1
	}
	e := entOf(id, s)
	return e.score(q, v.UDPL3mdevAccept)
}

// udpPath names how the socket was found: a connected one belongs to the
// four-tuple, any other is the unconnected kind that listeners are.
func (v *View) udpPath(r Result) Result {
	if r.Sock == 0 {
		return r
	}
	r.Path = PathListener
	if v.socks.at(r.Sock).Flags&Connected != 0 {
		r.Path = PathEstablished
	}
	return r
}

// UDPEarly is __udp4_lib_demux_lookup and its IPv6 twin: the socket at the head
// of the (address, port) chain, if it is connected to exactly this remote. With
// MatchExact the caller searches the flow table instead.
func (v *View) UDPEarly(q *Query) SockID {
	ref := v.udp.find(&v.socks, canonical(q.Daddr), q.Dport)
	if ref == 0 {
		return 0
	}
	if ref&chainMark != 0 {
		m := v.udp.multi.at(ref &^ chainMark)
		if m.nconn == 0 {
			return 0
		}
		ref = m.head
	}
	s := v.socks.at(ref)
	if s.Flags&Connected == 0 || s.Faddr != q.Saddr || s.Fport != q.Sport || s.Laddr != q.Daddr ||
		q.V6 && s.Flags&IsV6 == 0 || !boundEq(v.TCPL3mdevAccept, s.Bdi, q.Dif, q.Sdif) {
		return 0
	}
	return ref
}
