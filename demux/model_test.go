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
	h4f           flowtable.Addr // the remote that hash4 filed it under
	h4port        uint16
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
func saddrEqual(a, o *mSock, wild bool) bool { return saddrEqual2(a, o, wild, wild) }

func saddrEqual2(a, o *mSock, wild1, wild2 bool) bool {
	v4 := func() bool {
		if o.only {
			return false
		}
		return a.v4() == o.v4() || wild1 && a.v4() == 0 || wild2 && o.v4() == 0
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
	if t2 == anyT && wild2 && !(o.only && t1 == mapped) {
		return true
	}
	if t1 == anyT && wild1 && !(a.only && t2 == mapped) {
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
	if m.count(s.lport) <= 10 || s.l.IsAny() {
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
	if s.v6 && s.port { // sk_add_node_rcu
		m.prim = append(m.prim, s)
	} else {
		m.prim = slices.Insert(m.prim, 0, s)
	}
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
	return saddrEqual2(&t.sample, s, true, false)
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
	if !again { // udp_lib_hash4
		m.hash4 = slices.Insert(m.hash4, 0, s)
		s.h4f, s.h4port = s.f, s.fport
	}
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
