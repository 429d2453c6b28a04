package demux

import (
	"net/netip"
	"slices"
	"syscall"

	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// The model is the kernel's data structures taken literally: lists that are
// scanned from the head, with every socket in them. It knows nothing of
// indexes, order numbers or frozen forms.

type mGroup struct {
	socks    []*mSock
	closed   []*mSock
	max      int
	hasConns bool
	prog     *cbpf.Program
}

type mSock struct {
	id            SockID
	name          string
	udp, v6, only bool
	port, reuse   bool // SO_REUSEPORT, SO_REUSEADDR
	listen, conn  bool
	nocheck       bool
	l, f          flowtable.Addr
	lport, fport  uint16
	bdi, uid      uint32
	master        uint32
	cpu           int32
	g             *mGroup
	joins         []Join
}

type model struct {
	tcpAccept, udpAccept bool
	prim                 []*mSock // all UDP ports, head first
	hash2                []*mSock
	hash4                []*mSock
	lhash2               []*mSock
	tcp                  []*mSock // bind hash
	tb                   map[[2]uint32]*mBucket
	rules                []Rule
	byID                 map[SockID]*mSock
	hasher               *flowtable.Hasher
	seeds                []flowtable.Seed
}

// v4 is sk_rcv_saddr.
func (s *mSock) v4() uint32 {
	if s.l.Is4() {
		return s.l.As4()
	}
	if s.l == (flowtable.Addr{}) {
		return 0
	}
	return 0x7f000006
}

// saddrEqual transliterates inet_rcv_saddr_equal.
func saddrEqual(a, o *mSock, wild bool) bool {
	v4 := func() bool {
		if o.only {
			return false
		}
		return a.v4() == o.v4() || wild && (a.v4() == 0 || o.v4() == 0)
	}
	if !a.v6 {
		return v4()
	}
	const anyT, mapped, other = 0, 1, 2
	typ := func(s *mSock) int {
		switch {
		case !s.v6 || s.l.Is4():
			return mapped
		case s.l == flowtable.Any6:
			return anyT
		}
		return other
	}
	t1, t2 := typ(a), typ(o)
	if t1 == mapped && t2 == mapped {
		return v4()
	}
	if t1 == anyT && t2 == anyT {
		return true
	}
	if t2 == anyT && wild && !(o.only && t1 == mapped) {
		return true
	}
	if t1 == anyT && wild && !(a.only && t2 == mapped) {
		return true
	}
	return o.v6 && a.l == o.l
}

func (m *model) count(port uint16) (n int) {
	for _, s := range m.prim {
		if s.lport == port {
			n++
		}
	}
	return n
}

func (m *model) udpBind(s *mSock) syscall.Errno {
	inuse := func(list []*mSock, keep func(*mSock) bool) (bool, bool) {
		for _, o := range list {
			if o.lport == s.lport && keep(o) && !(o.reuse && s.reuse) &&
				(o.bdi == 0 || s.bdi == 0 || o.bdi == s.bdi) && saddrEqual(s, o, true) {
				return !(o.port && s.port && s.g == nil && o.uid == s.uid), true
			}
		}
		return false, false
	}
	if m.count(s.lport) <= 10 {
		if bad, _ := inuse(m.prim, func(*mSock) bool { return true }); bad {
			return syscall.EADDRINUSE
		}
	} else {
		bad, _ := inuse(m.hash2, func(o *mSock) bool { return canonical(o.l) == canonical(s.l) })
		if !bad && !s.l.IsAny() {
			bad, _ = inuse(m.hash2, func(o *mSock) bool { return o.l.IsAny() })
		}
		if bad {
			return syscall.EADDRINUSE
		}
	}
	if s.port {
		m.udpGroup(s)
	}
	m.prim = slices.Insert(m.prim, 0, s)
	m.enter2(s)
	return 0
}

func (m *model) enter2(s *mSock) {
	if s.v6 && s.port {
		m.hash2 = append(m.hash2, s)
	} else {
		m.hash2 = slices.Insert(m.hash2, 0, s)
	}
}

func newMGroup(s *mSock) *mGroup {
	s.g = &mGroup{socks: []*mSock{s}, max: 128}
	return s.g
}

func (m *model) udpGroup(s *mSock) {
	for _, o := range m.prim {
		if o.v6 == s.v6 && o.only == s.only && o.lport == s.lport && o.bdi == s.bdi && o.port && o.uid == s.uid &&
			saddrEqual(s, o, false) {
			m.addTo(s, o)
			return
		}
	}
	if s.g == nil {
		newMGroup(s)
	}
}

func (m *model) addTo(s, o *mSock) {
	if o.g == nil {
		newMGroup(o)
	}
	o.g.socks = append(o.g.socks, s)
	s.g = o.g
}

// mBucket is struct inet_bind_bucket: its shortcuts ignore devices, so they can
// grant what a comparison with every owner would refuse.
type mBucket struct {
	fastreuse, fastport int
	uid                 uint32
	sample              mSock
}

func (m *model) bucket(s *mSock) *mBucket {
	k := [2]uint32{uint32(s.lport), m.domain(s)}
	for _, o := range m.tcp {
		if o.lport == s.lport && m.domain(o) == m.domain(s) {
			return m.tb[k]
		}
	}
	m.tb[k] = nil
	return nil
}

func (t *mBucket) reuseportMatch(s *mSock) bool {
	if t.fastport == 0 || !s.port || s.g != nil || t.uid != s.uid {
		return false
	}
	if t.fastport == 1 {
		return true
	}
	// match_sk1_wildcard, not match_sk2_wildcard
	return saddrEqual(&t.sample, s, true) && (!s.l.IsAny() || t.sample.l.IsAny())
}

// getPort is inet_csk_get_port with a port given.
func (m *model) getPort(s *mSock) bool {
	t := m.bucket(s)
	reuse := s.reuse && !s.listen
	if t == nil {
		t = &mBucket{}
		m.tb[[2]uint32{uint32(s.lport), m.domain(s)}] = t
		t.fastreuse = b2i(reuse, 1)
		if s.port {
			t.fastport, t.uid, t.sample = 1, s.uid, *s
		}
		return true
	}
	if !(t.fastreuse > 0 && reuse) && !t.reuseportMatch(s) && m.tcpConflict(s) {
		return false
	}
	if !reuse {
		t.fastreuse = 0
	}
	if !s.port {
		t.fastport = 0
	} else if !t.reuseportMatch(s) {
		t.fastport, t.uid, t.sample = 2, s.uid, *s
	}
	return true
}

func (m *model) tcpConflict(s *mSock) bool {
	for _, o := range m.tcp {
		if o == s || o.lport != s.lport || m.domain(o) != m.domain(s) || !saddrEqual(s, o, true) {
			continue
		}
		if s.bdi != 0 && o.bdi != 0 && s.bdi != o.bdi {
			continue
		}
		if s.reuse && o.reuse && !o.listen {
			continue
		}
		if !(s.port && o.port && s.g == nil && s.uid == o.uid) {
			return true
		}
	}
	return false
}

func (m *model) domain(s *mSock) uint32 {
	if m.tcpAccept {
		return 0
	}
	return s.master
}

func (m *model) listenOn(s *mSock) syscall.Errno {
	s.listen = true
	if !m.getPort(s) {
		s.listen = false
		return syscall.EADDRINUSE
	}
	if s.port {
		joined := false
		for _, o := range m.lhash2 {
			if o.v6 == s.v6 && o.only == s.only && o.lport == s.lport && o.bdi == s.bdi && o.port && o.uid == s.uid &&
				m.domain(o) == m.domain(s) && saddrEqual(s, o, false) {
				m.addTo(s, o)
				joined = true
				break
			}
		}
		if !joined && s.g == nil {
			newMGroup(s)
		}
	}
	if s.v6 && s.port {
		m.lhash2 = append(m.lhash2, s)
	} else {
		m.lhash2 = slices.Insert(m.lhash2, 0, s)
	}
	return 0
}

func (m *model) connect(s *mSock, to netip.AddrPort, laddr flowtable.Addr) {
	again := s.conn
	s.f, s.fport = flowtable.AddrFrom(to.Addr()), to.Port()
	if s.l.IsAny() {
		s.l = laddr
		m.detach(s)
		m.hash2 = without(m.hash2, s)
		m.hash2 = slices.Insert(m.hash2, 0, s)
	}
	if s.g != nil {
		s.g.hasConns = true
	}
	s.conn = true
	if !again {
		m.detach(s)
	}
	m.hash4 = slices.Insert(without(m.hash4, s), 0, s)
}

func without(l []*mSock, s *mSock) []*mSock {
	if i := slices.Index(l, s); i >= 0 {
		return slices.Delete(l, i, i+1)
	}
	return l
}

func (m *model) detach(s *mSock) {
	if s.g == nil {
		return
	}
	if i := slices.Index(s.g.socks, s); i >= 0 {
		n := len(s.g.socks) - 1
		s.g.socks[i] = s.g.socks[n]
		s.g.socks = s.g.socks[:n]
	}
	s.g = nil
}

func (m *model) close(s *mSock) {
	m.prim, m.hash2, m.hash4 = without(m.prim, s), without(m.hash2, s), without(m.hash4, s)
	m.lhash2, m.tcp = without(m.lhash2, s), without(m.tcp, s)
	m.detach(s)
	delete(m.byID, s.id)
}

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
		if m.inetMatch(s, q) {
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
	return true
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
