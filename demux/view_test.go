package demux

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

func TestViewAccessors(t *testing.T) {
	b := vrfBuilder(t)
	l := mustAdd(t, b, "l tcp [::]:80 reuseport dev=red")
	require.NoError(t, b.Listen(l, 77))
	u := mustAdd(t, b, "u udp 10.0.0.1:53 connect=10.0.0.9:9")
	b.SetMatchExact(true)
	b.SetSpaces(1, nil, nil)
	v := b.Publish()
	require.True(t, v.MatchExact)
	s := v.Sock(l)
	require.Equal(t, [3]int{TCP, 6, 77}, [3]int{int(s.Proto()), int(s.Family()), s.Backlog()})
	require.True(t, s.Has(Listening|Reuseport))
	require.Equal(t, uint16(1), s.VRF)
	s = v.Sock(u)
	require.Equal(t, [3]int{UDP, 4, 0}, [3]int{int(s.Proto()), int(s.Family()), s.Backlog()})
	require.False(t, v.Sock(99999).Alive())
	require.Equal(t, "-", v.Name(99999))
	require.Equal(t, "red", v.Info(l).Dev)
	require.Nil(t, v.Info(99999))
	require.Equal(t, 1, v.Groups())
	require.Equal(t, "l", v.GroupName(0))
	require.Greater(t, v.MaxSock(), int(u))
	require.Equal(t, "red", v.VRFByName("red").Name)
	require.Nil(t, v.VRFByName("green"))
	require.Nil(t, v.IfaceByName("eth9"))
	require.Nil(t, v.Iface(999))
	require.True(t, v.VRFs[0].EveryLocal())
	require.True(t, v.VRFs[0].Local(addr("1.2.3.4")))
	_, ok := v.VRFs[0].Route(addr("1.2.3.4"))
	require.False(t, ok)
	n := 0
	v.Socks(func(SockID, *Sock) bool { n++; return false })
	require.Equal(t, 1, n)
	for p := PathNone; p < NPaths; p++ {
		require.NotEmpty(t, p.String())
	}
	for by := ByNone; by < NBy; by++ {
		require.NotEmpty(t, by.String())
	}
	_, err := b.AddVRF("red")
	require.ErrorContains(t, err, "vrf red: the name is taken")
	_, err = b.AddIface(IfaceSpec{Name: "x", VRF: 77})
	require.ErrorContains(t, err, "no VRF with index 77")
}

// TestClosedListenerKeepsItsWorker: flows that it accepted outlive it.
func TestClosedListenerKeepsItsWorker(t *testing.T) {
	b := newTestBuilder()
	sp := spec("a tcp 10.0.0.1:80")
	sp.Worker = 7
	id, err := b.Add(sp)
	require.NoError(t, err)
	b.Close(id)
	v := b.Publish()
	require.False(t, v.Sock(id).Alive())
	require.Equal(t, uint32(7), v.Sock(id).Worker)
	require.Equal(t, "a", v.Name(id))
	require.Zero(t, v.TCPListener(tcpq(b, "10.0.0.9:1", "10.0.0.1:80")).Sock)
	b.Close(id)
	require.Equal(t, id+1, mustAdd(t, b, "a tcp 10.0.0.1:80"))
}

func TestCandidates(t *testing.T) {
	b := vrfBuilder(t)
	for _, s := range []string{"wild udp 0.0.0.0:53 reuseaddr", "exact udp 10.0.0.1:53 reuseaddr", "other udp 10.0.0.2:53 reuseaddr",
		"six udp [2001:db8::1]:53 reuseaddr", "only udp [::]:53 v6only reuseaddr", "conn udp 10.0.0.1:53 reuseaddr connect=10.0.0.8:1",
		"red udp 0.0.0.0:53 dev=red reuseaddr", "t tcp 0.0.0.0:53", "port udp 0.0.0.0:54"} {
		mustAdd(t, b, s)
	}
	v := b.Publish()
	text := func(q *Query) (s string) {
		for _, c := range v.Candidates(q) {
			s += fmt.Sprintf("%s %d %s;", v.Name(c.Sock), c.Score, c.Why)
		}
		return strings.ReplaceAll(s, " ;", ";")
	}
	require.Equal(t, "wild 2;exact 2;other -1 bound to 10.0.0.2;six -1 bound to 2001:db8::1;only -1 takes no IPv4;"+
		"conn -1 connected to another remote;red -1 bound to another device;", text(on(v, udpq(b, "10.0.0.9:9", "10.0.0.1:53"), "eth0")))
	require.Contains(t, text(on(v, udpq(b, "10.0.0.9:9", "10.0.0.1:53"), "eth1")), "wild -1 unbound, and the packet is in a VRF;")
	require.Contains(t, text(on(v, udpq(b, "[2001:db8::9]:9", "[2001:db8::1]:53"), "eth0")), "wild -1 takes no IPv6;")
	require.Equal(t, "t 2;", text(on(v, tcpq(b, "10.0.0.9:9", "10.0.0.1:53"), "eth0")))
}

func TestJoins(t *testing.T) {
	b := vrfBuilder(t)
	u := mustAdd(t, b, "u udp 0.0.0.0:53")
	t6 := mustAdd(t, b, "v udp [::]:54")
	eth0 := b.v.IfaceByName("eth0").Index
	for _, c := range []struct {
		id   SockID
		j    Join
		want error
	}{
		{99, Join{Group: addr("224.1.1.1"), Ifindex: eth0}, syscall.EBADF},
		{u, Join{Group: addr("10.0.0.1"), Ifindex: eth0}, syscall.EINVAL},
		{u, Join{Group: addr("ff02::5"), Ifindex: eth0}, syscall.EINVAL},
		{u, Join{Group: addr("224.1.1.1"), Ifindex: 99}, syscall.ENODEV},
		{u, Join{Group: addr("224.1.1.1"), Ifindex: eth0}, nil},
		{u, Join{Group: addr("224.1.1.1"), Ifindex: eth0}, syscall.EADDRINUSE},
		{t6, Join{Group: addr("ff02::5"), Ifindex: eth0}, nil},
	} {
		if err := b.Join(c.id, c.j); c.want == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, c.want)
		}
	}
	b.SetLocal(0, nil)
	b.SetLocal(0, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")})
	v := b.Publish()
	q := on(v, udpq(b, "10.0.0.9:9", "224.1.1.1:53"), "eth0")
	require.Equal(t, Result{Sock: u, Path: PathEarly}, v.McastEarly(q))
	require.Equal(t, []SockID{u}, v.McastSocks(q, nil))
	b.Close(u)
	v = b.Publish()
	require.Equal(t, RouteNoMember, v.RouteInput(q))
	require.Zero(t, v.McastEarly(q).Sock)
	q = on(v, udpq(b, "10.0.0.9:9", "224.0.0.1:53"), "eth0")
	require.Equal(t, RouteMulticast, v.RouteInput(q))

	// IPv6 datagrams without a checksum reach only who asked for them.
	q = on(v, udpq(b, "[2001:db8::9]:9", "[ff02::5]:54"), "eth0")
	q.ZeroCsum = true
	require.Empty(t, v.McastSocks(q, nil))
	q.ZeroCsum = false
	require.Equal(t, []SockID{t6}, v.McastSocks(q, nil))
	_, err := b.Add(&Spec{Name: "j", Proto: UDP, Bind: ap("0.0.0.0:60"), IncomingCPU: -1, Joins: []Join{{Group: addr("10.0.0.1"), Ifindex: eth0}}})
	require.ErrorIs(t, err, syscall.EINVAL)
	require.Zero(t, b.Lookup("j"), "nothing remains of a refused socket")
	require.Equal(t, flowtable.V4(0xe0000001), allHosts)
}
