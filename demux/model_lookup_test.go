package demux

import (
	"slices"

	"edemux/flowtable"
)

// Lookups of the model: kernel lists scanned from the head.

func (m *model) bound(accept bool, bdi uint32, q *Query) bool {
	if bdi == 0 {
		return q.Sdif == 0 || accept
	}
	return bdi == q.Dif || bdi == q.Sdif
}

func b2i(b bool, n int) int {
	if b {
		return n
	}
	return 0
}

// score transliterates the four compute_score functions.
func (m *model) score(s *mSock, q *Query, d flowtable.Addr) int {
	if s.lport != q.Dport {
		return -1
	}
	if q.V6 {
		if !s.v6 || s.l != d {
			return -1
		}
	} else if s.only || s.v4() != d.As4() {
		return -1
	}
	accept := m.tcpAccept
	if s.udp {
		accept = m.udpAccept
	}
	if !m.bound(accept, s.bdi, q) {
		return -1
	}
	cpu := b2i(s.cpu == q.CPU, 1)
	switch {
	case !s.udp && q.V6:
		return 1 + b2i(s.bdi != 0, 1) + cpu
	case !s.udp:
		return 1 + b2i(s.bdi != 0, 1) + b2i(!s.v6, 1) + cpu
	}
	step, n := 4, 1+b2i(!s.v6, 1)
	if q.V6 {
		step, n = 1, 0
	}
	if s.conn {
		if s.f != q.Saddr || s.fport != q.Sport {
			return -1
		}
		n += 2 * step
	}
	return n + b2i(s.bdi != 0, step) + cpu
}

func (m *model) sel(s *mSock, q *Query, d flowtable.Addr) *mSock {
	g := s.g
	if g == nil || len(g.socks) == 0 {
		return nil
	}
	n := len(g.socks)
	if g.prog != nil && !q.NoProg && q.Prog != nil {
		if i := g.prog.Run(q.Prog); int(i) < n {
			return g.socks[i]
		}
	}
	h := m.hasher.Sum(m.seeds[q.VRF], d, q.Saddr, q.Sport).Hash(q.Dport)
	i := int(uint64(h) * uint64(n) >> 32)
	cpus := 0
	for _, o := range g.socks {
		cpus += b2i(o.cpu >= 0, 1)
	}
	var first *mSock
	for range n {
		o := g.socks[i]
		if !o.conn {
			if cpus == 0 || o.cpu == q.CPU {
				return o
			}
			if first == nil {
				first = o
			}
		}
		i = (i + 1) % n
	}
	return first
}

func (m *model) tcpScan(q *Query, d flowtable.Addr) *mSock {
	var res *mSock
	hi := 0
	for _, s := range m.lhash2 {
		sc := m.score(s, q, d)
		if sc > hi {
			if s.port {
				if r := m.sel(s, q, d); r != nil {
					return r
				}
			}
			res, hi = s, sc
		}
	}
	return res
}

func anyOf(q *Query) flowtable.Addr {
	if q.V6 {
		return flowtable.Any6
	}
	return flowtable.Any4
}

func (m *model) rule(q *Query) *mSock {
	for i := range m.rules {
		r := &m.rules[i]
		if r.Proto != q.Proto || !r.AnyVRF && r.VRF != q.VRF || q.Dport < r.Low || q.Dport > r.Top ||
			r.Dst.IsValid() && !r.Dst.Contains(q.Daddr.Netip()) || r.Src.IsValid() && !r.Src.Contains(q.Saddr.Netip()) {
			continue
		}
		s := m.byID[r.Socket]
		if s == nil || s.conn || !s.udp && !s.listen || q.V6 && !s.v6 || !q.V6 && s.v6 && s.only {
			return nil
		}
		if r := m.sel(s, q, q.Daddr); r != nil {
			return r
		}
		return s
	}
	return nil
}

func (m *model) tcpListener(q *Query) *mSock {
	if s := m.rule(q); s != nil {
		return s
	}
	if s := m.tcpScan(q, q.Daddr); s != nil {
		return s
	}
	return m.tcpScan(q, anyOf(q))
}

func (m *model) udpScan(q *Query, d flowtable.Addr) *mSock {
	var res *mSock
	bad := 0
	if q.V6 {
		bad = -1
	}
	for _, s := range m.hash2 {
		sc := m.score(s, q, d)
		if sc <= bad {
			continue
		}
		bad = sc
		if s.conn {
			res = s
			continue
		}
		r := m.sel(s, q, d)
		if r == nil {
			res = s
			continue
		}
		if !s.g.hasConns {
			return r
		}
		res = r
		if n := m.score(r, q, d); n > bad {
			bad = n
		}
	}
	return res
}

func (m *model) inetMatch(s *mSock, q *Query) bool {
	return s.conn && s.lport == q.Dport && s.fport == q.Sport && s.l == q.Daddr && s.f == q.Saddr &&
		(!q.V6 || s.v6) && m.bound(m.tcpAccept, s.bdi, q)
}

func (m *model) udpLookup(q *Query) *mSock {
	for _, s := range m.hash4 {
		if m.inetMatch(s, q) && s.h4f == q.Saddr && s.h4port == q.Sport {
			return s
		}
	}
	r := m.udpScan(q, q.Daddr)
	if r != nil && r.conn {
		return r
	}
	if s := m.rule(q); s != nil {
		return s
	}
	if r != nil {
		return r
	}
	return m.udpScan(q, anyOf(q))
}

func (m *model) udpEarly(q *Query) *mSock {
	for _, s := range m.hash2 {
		if s.lport == q.Dport && canonical(s.l) == canonical(q.Daddr) {
			if m.inetMatch(s, q) {
				return s
			}
			return nil
		}
	}
	return nil
}

func (m *model) mcastMatch(s *mSock, q *Query) bool {
	if s.lport != q.Dport || s.conn && (s.f != q.Saddr || s.fport != q.Sport) || !m.bound(m.udpAccept, s.bdi, q) {
		return false
	}
	if q.V6 {
		if !s.v6 || s.l != flowtable.Any6 && s.l != q.Daddr || q.ZeroCsum && !s.nocheck {
			return false
		}
	} else if s.only || s.v4() != 0 && s.v4() != q.Daddr.As4() {
		return false
	}
	if !IsMulticast(q.Daddr) {
		return true
	}
	for _, j := range s.joins {
		if j.Group == q.Daddr && (q.V6 || j.Ifindex == q.Dif || q.Sdif != 0 && j.Ifindex == q.Sdif) {
			return len(j.Include) == 0 || slices.Contains(j.Include, q.Saddr)
		}
	}
	return q.V6 || !s.v6 // IP_MULTICAST_ALL is off in AF_INET6 sockets
}

func (m *model) mcast(q *Query) (ids []SockID) {
	var lists [][]*mSock
	keep := func(a flowtable.Addr) (l []*mSock) {
		for _, s := range m.hash2 {
			if canonical(s.l) == a {
				l = append(l, s)
			}
		}
		return l
	}
	if m.count(q.Dport) > 10 {
		lists = [][]*mSock{keep(canonical(q.Daddr)), keep(flowtable.Any6)}
	} else {
		lists = [][]*mSock{m.prim}
	}
	for _, l := range lists {
		for _, s := range l {
			if m.mcastMatch(s, q) {
				ids = append(ids, s.id)
			}
		}
	}
	if len(ids) > 1 {
		ids = append(ids[1:], ids[0])
	}
	return ids
}

func (m *model) mcastEarly(q *Query) *mSock {
	if m.count(q.Dport) > 10 {
		return nil
	}
	ids := m.mcast(q)
	if len(ids) != 1 {
		return nil
	}
	s := m.byID[ids[0]]
	if !s.conn && s.port {
		if r := m.sel(s, q, q.Daddr); r != nil {
			return r
		}
	}
	return s
}
