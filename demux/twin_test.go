package demux

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"edemux/demux/cbpf"
	"edemux/flowtable"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twin drives the Builder and the model with the same random steps.
type twin struct {
	t     *testing.T
	r     *rand.Rand
	b     *Builder
	m     *model
	live  []*mSock
	n     int
	ports uint16
	in    cbpf.Input
	progs []*cbpf.Program
	devs  []string // interfaces
	addrs []string // to bind to
	log   []string
}

var twinAddrs = []string{"0.0.0.0", "10.0.0.1", "10.0.0.2", "::", "2001:db8::1", "2001:db8::2",
	"::ffff:0.0.0.0", "::ffff:10.0.0.1", "224.1.1.1", "ff05::1"}

func newTwin(t *testing.T, seed uint64) *twin {
	w := &twin{t: t, r: rand.New(rand.NewPCG(seed, 7)), b: newTestBuilder()}
	b := w.b
	for _, name := range []string{"red", "blue"} {
		_, err := b.AddVRF(name)
		require.NoError(t, err)
	}
	w.addrs = twinAddrs
	vrfs := []uint16{0, 0, 1, 1, 2}
	if w.pick(3) { // few addresses, many devices: chains long enough to be split
		w.addrs = []string{"0.0.0.0", "::", "10.0.0.1"}
		for range 20 {
			vrfs = append(vrfs, uint16(w.r.IntN(3)))
		}
	}
	for i, vrf := range vrfs {
		w.devs = append(w.devs, fmt.Sprintf("eth%d", i))
		_, err := b.AddIface(IfaceSpec{Name: w.devs[i], Port: uint16(i), VRF: vrf})
		require.NoError(t, err)
	}
	w.m = &model{byID: map[SockID]*mSock{}, tb: map[[2]uint32]*mBucket{}, hasher: b.Hasher, tcpAccept: w.r.IntN(2) == 0, udpAccept: w.r.IntN(2) == 0}
	b.SetL3mdevAccept(w.m.tcpAccept, w.m.udpAccept)
	for i := range b.v.VRFs {
		w.m.seeds = append(w.m.seeds, b.v.VRFs[i].Seed)
	}
	for _, text := range []string{"ld [0]; mod #3; ret a", "ld #cpu; ret a", "ret #99"} {
		p, err := cbpf.Assemble(text)
		require.NoError(t, err)
		w.progs = append(w.progs, p)
	}
	w.ports = 1 + uint16(w.r.IntN(3))
	return w
}

func (w *twin) pick(n int) bool { return w.r.IntN(n) == 0 }

// open adds a socket to both and compares the outcome.
func (w *twin) open() {
	w.n++
	sp := &Spec{
		Name: fmt.Sprintf("s%d", w.n), Proto: UDP, IncomingCPU: -1, Reuseport: !w.pick(3), Reuseaddr: w.pick(4),
		UID: uint32(b2i(w.pick(6), 1)), NoCheck6Rx: w.pick(2), V6Only: w.pick(4),
	}
	if w.pick(3) {
		sp.Proto = TCP
	}
	if w.pick(4) {
		sp.IncomingCPU = int32(w.r.IntN(3))
	}
	if w.pick(2) {
		sp.Dev = w.devs[w.r.IntN(len(w.devs))]
		if w.pick(4) {
			sp.Dev = []string{"red", "blue"}[w.r.IntN(2)]
		}
	}
	sp.Bind = netip.AddrPortFrom(netip.MustParseAddr(w.addrs[w.r.IntN(len(w.addrs))]), 1000+uint16(w.r.IntN(int(w.ports))))
	if sp.Reuseport && w.pick(12) {
		sp.Prog = w.progs[w.r.IntN(len(w.progs))]
	}
	id, err := w.b.Add(sp)
	if errors.Is(err, syscall.EINVAL) {
		return // refused by the address alone
	}
	w.note("open %+v: %d %v", *sp, id, err)
	s := w.modelSock(sp)
	want := w.modelBind(s)
	w.same(want, err, "open", sp)
	if err != nil {
		return
	}
	s.id = id
	w.m.byID[id] = s
	w.live = append(w.live, s)
	if sp.Proto == TCP && !w.pick(4) {
		w.listen(s)
	}
}

func (w *twin) modelSock(sp *Spec) *mSock {
	a := sp.Bind.Addr()
	s := &mSock{name: sp.Name, udp: sp.Proto == UDP, v6: !a.Is4(), port: sp.Reuseport, reuse: sp.Reuseaddr, uid: sp.UID,
		l: flowtable.AddrFrom(a), lport: sp.Bind.Port(), cpu: sp.IncomingCPU, nocheck: sp.NoCheck6Rx}
	s.only = s.v6 && (sp.V6Only || !a.Is4In6() && a != netip.IPv6Unspecified())
	if i := w.b.v.IfaceByName(sp.Dev); i != nil {
		s.bdi, s.master = i.Index, w.b.v.VRFs[i.VRF].Ifindex
	} else if v := w.b.v.VRFByName(sp.Dev); v != nil {
		s.bdi, s.master = v.Ifindex, v.Ifindex
	}
	if sp.Prog != nil {
		newMGroup(s).prog = sp.Prog
	}
	return s
}

func (w *twin) modelBind(s *mSock) syscall.Errno {
	if s.udp {
		return w.m.udpBind(s)
	}
	if !w.m.getPort(s) {
		return syscall.EADDRINUSE
	}
	w.m.tcp = append(w.m.tcp, s)
	return 0
}

func (w *twin) same(want syscall.Errno, err error, what string, of any) {
	w.t.Helper()
	if want == 0 && err == nil || want != 0 && errors.Is(err, want) {
		return
	}
	require.Failf(w.t, "another outcome", "%s %+v: want errno %d, got %v after\n%s", what, of, want, err, lastLines(w.log))
}

func (w *twin) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *twin) listen(s *mSock) {
	if s.udp || s.listen || s.conn {
		return
	}
	err := w.b.Listen(s.id, 128)
	w.note("listen %d: %v", s.id, err)
	w.same(w.m.listenOn(s), err, "listen", s)
}

func (w *twin) connect(s *mSock) {
	if !s.udp {
		return
	}
	i := w.r.IntN(2)
	to, from := "10.0.0.9", "10.0.0.1"
	if s.v6 && (s.l != flowtable.Any6 || w.pick(2)) && !s.l.Is4() {
		to, from = "2001:db8::9", "2001:db8::1"
	}
	remote := netip.AddrPortFrom(netip.MustParseAddr(to), 9000+uint16(i))
	err := w.b.Connect(s.id, remote, netip.MustParseAddr(from))
	w.note("connect %d %v: %v", s.id, remote, err)
	if errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EAFNOSUPPORT) {
		return
	}
	require.NoError(w.t, err)
	w.m.connect(s, remote, addr(from))
}

// step does something to both.
func (w *twin) step() {
	if len(w.live) == 0 || w.pick(2) {
		w.open()
		return
	}
	i := w.r.IntN(len(w.live))
	s := w.live[i]
	switch w.r.IntN(9) {
	case 8:
		w.flows()
	case 0, 1:
		w.note("close %d", s.id)
		w.b.Close(s.id)
		w.m.close(s)
		w.live = append(w.live[:i], w.live[i+1:]...)
	case 2:
		w.connect(s)
	case 3:
		w.listen(s)
	case 4:
		s.cpu = int32(w.r.IntN(4)) - 1
		w.note("cpu %d %d", s.id, s.cpu)
		require.NoError(w.t, w.b.SetIncomingCPU(s.id, s.cpu))
	case 5:
		if s.g != nil {
			p := w.progs[w.r.IntN(len(w.progs))]
			w.note("attach %d", s.id)
			require.NoError(w.t, w.b.Attach(s.id, p))
			s.g.prog = p
		}
	case 6:
		if s.g != nil && s.g.prog != nil {
			require.NoError(w.t, w.b.Detach(s.id))
			s.g.prog = nil
		}
	case 7:
		w.join(s)
	}
}

// flows adds a few connected sockets in bulk.
func (w *twin) flows() {
	w.n++
	var fs []FlowSpec
	for range 1 + w.r.IntN(4) {
		k := flowtable.Key{Laddr: addr("10.0.0.1"), Faddr: addr("10.0.0.9"),
			Lport: 1000 + uint16(w.r.IntN(int(w.ports))), Fport: 9000 + uint16(w.r.IntN(3))}
		if w.pick(2) {
			k.Laddr, k.Faddr = addr("2001:db8::1"), addr("2001:db8::9")
		}
		fs = append(fs, FlowSpec{Key: k})
	}
	name := fmt.Sprintf("f%d", w.n)
	first, err := w.b.AddFlows(name, fs)
	require.NoError(w.t, err)
	w.note("flows from %d: %+v", first, fs)
	for i, f := range fs {
		s := &mSock{id: first + SockID(i), name: fmt.Sprintf("%s/%d", name, i), udp: true, conn: true, reuse: true, cpu: -1,
			l: f.Key.Laddr, f: f.Key.Faddr, lport: f.Key.Lport, fport: f.Key.Fport, h4f: f.Key.Faddr, h4port: f.Key.Fport, v6: !f.Key.Laddr.Is4()}
		s.only = s.v6
		w.m.prim = slices.Insert(w.m.prim, 0, s)
		w.m.hash2 = slices.Insert(w.m.hash2, 0, s)
		w.m.hash4 = slices.Insert(w.m.hash4, 0, s)
		w.m.byID[s.id] = s
		w.live = append(w.live, s)
	}
}

func (w *twin) join(s *mSock) {
	j := Join{Group: addr([]string{"224.1.1.1", "224.1.1.2", "ff05::1"}[w.r.IntN(3)]), Ifindex: w.b.v.IfaceByName(w.devs[w.r.IntN(len(w.devs))]).Index}
	if w.pick(2) {
		j.Include = []flowtable.Addr{addr("10.0.0.9"), addr("2001:db8::9")}
	}
	if w.b.Join(s.id, j) == nil {
		s.joins = append(s.joins, j)
	}
}

func (w *twin) query() *Query {
	ifc := w.b.v.IfaceByName(w.devs[w.r.IntN(len(w.devs))])
	q := &Query{Proto: UDP, Dif: ifc.Dif, Sdif: ifc.Sdif, VRF: ifc.VRF, CPU: int32(w.r.IntN(3)), Hasher: w.b.Hasher,
		Sport: 9000 + uint16(w.r.IntN(3)), Dport: 1000 + uint16(w.r.IntN(int(w.ports)+1)), ZeroCsum: w.pick(4)}
	if w.pick(2) {
		q.Proto = TCP
	}
	if w.pick(2) {
		q.Saddr, q.Daddr = addr("10.0.0.9"), addr([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "224.1.1.1", "224.1.1.2", "255.255.255.255"}[w.r.IntN(6)])
	} else {
		q.V6 = true
		q.Saddr, q.Daddr = addr("2001:db8::9"), addr([]string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "ff05::1"}[w.r.IntN(4)])
	}
	if !w.pick(4) {
		w.in.Data = []byte{0, 0, 0, byte(w.r.IntN(5))}
		w.in.CPU = uint32(q.CPU)
		q.Prog = &w.in
	}
	return q
}

func idOf(s *mSock) SockID {
	if s == nil {
		return 0
	}
	return s.id
}

// compare asks both the same questions.
func (w *twin) compare(v *View, packets int) {
	for range packets {
		q := w.query()
		mq := *q
		check := func(what string, want, got any) {
			w.t.Helper()
			if !assert.ObjectsAreEqual(want, got) {
				require.Equal(w.t, want, got, "%s of %+v after\n%s", what, mq, lastLines(w.log))
			}
		}
		if q.Proto == TCP {
			check("listener", idOf(w.m.tcpListener(&mq)), v.TCPListener(q).Sock)
			continue
		}
		check("early", idOf(w.m.udpEarly(&mq)), v.UDPEarly(q))
		check("mcast", w.m.mcast(&mq), v.McastSocks(q, nil))
		if !q.V6 {
			check("mcast early", idOf(w.m.mcastEarly(&mq)), v.McastEarly(q).Sock)
		}
		check("udp", idOf(w.m.udpLookup(&mq)), v.UDPLookup(q).Sock)
		require.LessOrEqual(w.t, int(q.Computed), 2)
		mq.NoProg = true
		check("icmp", idOf(w.m.udpLookup(&mq)), v.UDPError(q).Sock)
	}
}

func lastLines(l []string) (s string) {
	for _, x := range l[max(0, len(l)-60):] {
		s += x + "\n"
	}
	return s
}

func (w *twin) setRules() {
	var rules []Rule
	for range w.r.IntN(6) {
		if len(w.live) == 0 {
			break
		}
		s := w.live[w.r.IntN(len(w.live))]
		r := Rule{Proto: TCP, AnyVRF: w.pick(2), VRF: uint16(w.r.IntN(3)), Low: 1000, Top: 1000 + uint16(w.r.IntN(4)), Socket: s.id}
		if s.udp {
			r.Proto = UDP
		}
		if w.pick(2) {
			r.Dst = netip.MustParsePrefix([]string{"10.0.0.0/8", "10.0.0.1/32", "2001:db8::/32"}[w.r.IntN(3)])
		}
		if w.pick(3) {
			r.Src = netip.MustParsePrefix([]string{"10.0.0.0/8", "2001:db8::9/128"}[w.r.IntN(2)])
		}
		if w.b.checkRule(&r) == nil {
			rules = append(rules, r)
		}
	}
	require.NoError(w.t, w.b.SetRules(rules))
	w.m.rules = rules
}

// TestTwin compares the Builder and its Views with the model on random socket
// sets, with closes, connects and re-binds in between.
func TestTwin(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	const base = 20261130
	for i := range rounds {
		seed := uint64(base + i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newTwin(t, seed)
			for range 12 {
				for range 1 + w.r.IntN(8) {
					w.step()
				}
				if w.pick(3) {
					w.setRules()
				}
				w.compare(w.b.Publish(), 20)
			}
		})
	}
}
