//go:build linux && soak

package demux

// The running kernel as the judge of the Builder and of UDP lookups: random
// real sockets in a namespace of their own, seeded. Needs root:
//
//	go test -tags soak -run TestKernel ./demux [-soak.seeds 60000]
//
// Kernels older than 6.18 differ: hash4 (6.13) and the comparison of wildcard
// binds with every socket of the port came late.

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"edemux/demux/cbpf"
	"edemux/flowtable"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

var soakSeeds = flag.Uint64("soak.seeds", 3000, "random scenarios for the running kernel")

var soakAddrs = []string{"0.0.0.0", "127.0.0.1", "127.0.0.2", "::", "::1", "::ffff:0.0.0.0", "::ffff:127.0.0.1"}

var soakUDPSets = [][]string{soakAddrs, {"::", "0.0.0.0"}, {"::1", "::"}, {"127.0.0.1", "0.0.0.0"}, {"::1"}, {"127.0.0.1"},
	{"::ffff:127.0.0.1", "127.0.0.1"}}

// soakNetns moves this thread into a fresh namespace with lo up and dummy0.
func soakNetns(t *testing.T) {
	runtime.LockOSThread() // for good: the thread ends with the test
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET))
	lo, err := netlink.LinkByName("lo")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(lo))
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "dummy0"
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "peer0"}))
	dummy, err := netlink.LinkByName("dummy0")
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(dummy))
}

// realSock is a socket of the kernel and its counterpart here.
type realSock struct {
	fd   int
	id   SockID
	tcp  bool
	desc string
}

// soak is one scenario.
type soak struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	b       *Builder
	live    []*realSock
	log     []string
	n       int
	port    uint16
	clients []int
	remotes []netip.AddrPort
	cpuTies int
}

func newSoak(t *testing.T, seed uint64) *soak {
	s := &soak{t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 3)), b: newTestBuilder(), port: 20000 + uint16(seed%9000)}
	for i, name := range []string{"lo", "dummy0"} {
		_, err := s.b.AddIface(IfaceSpec{Name: name, Port: uint16(i), Loopback: name == "lo"})
		require.NoError(t, err)
	}
	return s
}

func (s *soak) close() {
	for _, x := range s.live {
		unix.Close(x.fd)
	}
}

func (s *soak) note(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

// same notes a step and requires the same errno of both.
func (s *soak) same(kernel, ours error, format string, args ...any) {
	s.note(format+": kernel %v, here %v", append(args, kernel, ours)...)
	e := &Error{}
	if kernel == nil && ours == nil || errors.As(ours, &e) && errors.Is(kernel, e.Errno) {
		return
	}
	s.fail()
}

func (s *soak) fail() {
	s.t.Helper()
	require.Failf(s.t, "the kernel decides otherwise", "seed %d\n%s", s.seed, lastLines(s.log))
}

// spec draws a socket of one protocol.
func (s *soak) spec(proto uint8, addrs []string) *Spec {
	s.n++
	sp := &Spec{Name: fmt.Sprint(s.n), Proto: proto, IncomingCPU: -1,
		Bind:      netip.AddrPortFrom(netip.MustParseAddr(addrs[s.r.IntN(len(addrs))]), s.port),
		Reuseport: s.r.IntN(4) > 0, Reuseaddr: s.r.IntN(3) == 0, V6Only: s.r.IntN(4) == 0, UID: uint32(s.r.IntN(6) / 5)}
	if s.r.IntN(4) == 0 {
		sp.Dev = []string{"lo", "dummy0"}[s.r.IntN(2)]
	}
	return sp
}

// open opens the socket in both.
func (s *soak) open(sp *Spec) {
	fd, kernel := openReal(sp)
	id, ours := s.b.Add(sp)
	desc := fmt.Sprintf("%s=%d %s %v reuseport=%v reuseaddr=%v v6only=%v uid=%d dev=%q", sp.Name, id, protoName(sp.Proto), sp.Bind,
		sp.Reuseport, sp.Reuseaddr, sp.V6Only, sp.UID, sp.Dev)
	if kernel == nil {
		s.live = append(s.live, &realSock{fd, id, sp.Proto == TCP, desc})
	}
	s.same(kernel, ours, "bind %s", desc)
}

func openReal(sp *Spec) (int, error) {
	family, typ := unix.AF_INET6, unix.SOCK_DGRAM
	if sp.Bind.Addr().Is4() {
		family = unix.AF_INET
	}
	if sp.Proto == TCP {
		typ = unix.SOCK_STREAM
	}
	fd, err := unix.Socket(family, typ|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	set := func(on bool, level, opt int) {
		if on {
			err = errors.Join(err, unix.SetsockoptInt(fd, level, opt, 1))
		}
	}
	set(sp.Reuseport, unix.SOL_SOCKET, unix.SO_REUSEPORT)
	set(sp.Reuseaddr, unix.SOL_SOCKET, unix.SO_REUSEADDR)
	set(sp.V6Only && family == unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY)
	if sp.Dev != "" {
		err = errors.Join(err, unix.BindToDevice(fd, sp.Dev))
	}
	if sp.UID != 0 {
		err = errors.Join(err, unix.Fchown(fd, int(sp.UID), -1))
	}
	if err == nil {
		err = unix.Bind(fd, realAddr(sp.Bind, family == unix.AF_INET6))
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

func realAddr(a netip.AddrPort, v6 bool) unix.Sockaddr {
	if v6 {
		return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
	}
	return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
}

func (s *soak) closeOne() {
	i := s.r.IntN(len(s.live))
	x := s.live[i]
	s.note("close %s", x.desc)
	unix.Close(x.fd)
	s.b.Close(x.id)
	s.live = slices.Delete(s.live, i, i+1)
}

// TestKernelBind compares the outcome of bind and listen.
func TestKernelBind(t *testing.T) {
	soakNetns(t)
	for seed := range *soakSeeds {
		s := newSoak(t, seed)
		for range 25 + seed%40 {
			switch k := s.r.IntN(8); {
			case k < 6 || len(s.live) == 0:
				s.open(s.spec([]uint8{TCP, UDP}[s.r.IntN(2)], soakAddrs))
			case k == 6:
				if x := s.live[s.r.IntN(len(s.live))]; x.tcp {
					s.same(unix.Listen(x.fd, 5), s.b.Listen(x.id, 5), "listen %s", x.desc)
				}
			default:
				s.closeOne()
			}
		}
		s.close()
	}
}

// TestKernelUDP compares which socket gets a datagram.
func TestKernelUDP(t *testing.T) {
	soakNetns(t)
	var clients []int
	var remotes []netip.AddrPort
	for _, a := range []string{"127.0.0.9:30001", "127.0.0.9:30002", "[::1]:30001", "[::1]:30002"} {
		fd, err := openReal(&Spec{Proto: UDP, Bind: ap(a)})
		require.NoError(t, err)
		clients, remotes = append(clients, fd), append(remotes, ap(a))
	}
	ties := 0
	for seed := range *soakSeeds {
		s := newSoak(t, seed)
		s.clients, s.remotes = clients, remotes
		addrs := soakUDPSets[s.r.IntN(len(soakUDPSets))]
		for range 30 + seed%30 {
			switch k := s.r.IntN(10); {
			case k < 4 || len(s.live) == 0:
				s.open(s.spec(UDP, addrs))
			case k == 4:
				s.closeOne()
			case k == 5:
				s.connect()
			case k == 6:
				s.attach()
			default:
				s.packet()
			}
		}
		s.close()
		ties += s.cpuTies
	}
	t.Logf("%d datagrams went to another connected socket of the same identity (sk_incoming_cpu)", ties)
}

func (s *soak) connect() {
	x := s.live[s.r.IntN(len(s.live))]
	d := s.b.socks.at(x.id)
	c := s.r.IntN(4)
	v6 := d.Flags&IsV6 != 0
	if d.Bdi == 2 || c >= 2 != (v6 && !d.Laddr.Is4()) && (!v6 || d.Laddr != flowtable.Any6) {
		return // no route from there
	}
	local := netip.MustParseAddr("127.0.0.1")
	if c >= 2 {
		local = netip.IPv6Loopback()
	}
	s.same(unix.Connect(x.fd, realAddr(s.remotes[c], v6)), s.b.Connect(x.id, s.remotes[c], local), "connect %s to %v", x.desc, s.remotes[c])
}

func (s *soak) attach() {
	x := s.live[s.r.IntN(len(s.live))]
	p := asm(s.t, []string{"ld [0]; mod #3; ret a", "ret #1", "ret #99", "ld [2]; ret a"}[s.r.IntN(4)])
	filter := make([]unix.SockFilter, 0, 4)
	for _, i := range p.Instructions() {
		filter = append(filter, unix.SockFilter{Code: i.Code, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	var kernel error
	if _, _, e := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(x.fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
		uintptr(unsafe.Pointer(&prog)), unsafe.Sizeof(prog), 0); e != 0 {
		kernel = e
	}
	s.same(kernel, s.b.Attach(x.id, p), "attach %s", x.desc)
}

// packet sends a datagram and looks who got it. Loopback delivers before
// sendto returns.
func (s *soak) packet() {
	c := s.r.IntN(4)
	dst := netip.AddrPortFrom(netip.MustParseAddr([]string{"127.0.0.1", "127.0.0.2", "127.0.0.3"}[s.r.IntN(3)]), s.port)
	if c >= 2 {
		dst = netip.AddrPortFrom(netip.IPv6Loopback(), s.port)
	}
	data := []byte{0, 0, 0, byte(s.r.IntN(8))}[:4-s.r.IntN(2)*s.r.IntN(4)]
	v := s.b.Publish()
	q := udpq(s.b, s.remotes[c].String(), dst.String())
	q.CPU, q.Prog = -1, &cbpf.Input{Data: data, Len: uint32(len(data))}
	want := v.UDPLookup(q)
	if unix.Sendto(s.clients[c], data, 0, realAddr(dst, c >= 2)) != nil { // the error of an earlier one
		require.NoError(s.t, unix.Sendto(s.clients[c], data, 0, realAddr(dst, c >= 2)))
	}
	got := s.receiver()
	s.note("%v to %v % x: kernel %d, here %+v", s.remotes[c], dst, data, got, want)
	ok := got == want.Sock
	switch {
	case want.By == ByHash || want.By == ByFallback: // the kernel's hash has secrets
		ok = slices.Contains(v.groups[want.Group-1].socks, got) && v.Sock(got).Flags&Connected == 0
	case !ok && got != 0 && want.Path == PathEstablished && v.Sock(got).Key() == v.Sock(want.Sock).Key():
		ok = true // the kernel prefers the one that received on this CPU before
		s.cpuTies++
	}
	if !ok {
		s.fail()
	}
}

// receiver drains all sockets and returns the one that had a datagram.
func (s *soak) receiver() (got SockID) {
	var buf [16]byte
	for _, x := range s.live {
		_, _, err := unix.Recvfrom(x.fd, buf[:], 0)
		if errors.Is(err, unix.ECONNREFUSED) {
			_, _, err = unix.Recvfrom(x.fd, buf[:], 0)
		}
		if err == nil {
			require.Zero(s.t, got, "two receivers")
			got = x.id
		}
	}
	return got
}
