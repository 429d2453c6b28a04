package demux

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"edemux/demux/cbpf"
	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

// TestWildcardHash: the same remote reaches the same member whatever local
// address it sent to, since the wildcard is hashed; bound to addresses it need
// not. The hash is computed once.
func TestWildcardHash(t *testing.T) {
	b := newTestBuilder()
	for i := range 7 {
		mustAdd(t, b, fmt.Sprintf("w%d udp 0.0.0.0:80 reuseport", i))
		mustAdd(t, b, fmt.Sprintf("x%d udp [::]:80 reuseport", i))
	}
	v := b.Publish()
	seen := map[SockID]int{}
	for p := range 2000 {
		q1 := udpq(b, fmt.Sprintf("10.0.0.9:%d", p+1), "10.0.0.1:80")
		q2 := udpq(b, fmt.Sprintf("10.0.0.9:%d", p+1), "192.0.2.77:80")
		q2.SumIn(&v.VRFs[0]) // the packet's own hash is there already
		r := v.UDPLookup(q1)
		require.Equal(t, r, v.UDPLookup(q2))
		require.Equal(t, uint8(1), q1.Computed)
		require.Equal(t, uint8(2), q2.Computed)
		seen[r.Sock]++
		q3, q4 := udpq(b, fmt.Sprintf("[2001:db8::9]:%d", p+1), "[2001:db8::1]:80"), udpq(b, fmt.Sprintf("[2001:db8::9]:%d", p+1), "[2001:db8::2]:80")
		q4.SumIn(&v.VRFs[0])
		require.Equal(t, v.UDPLookup(q3), v.UDPLookup(q4))
	}
	require.Len(t, seen, 7)
	for _, n := range seen {
		require.Less(t, math.Abs(float64(n)-2000.0/7), 120.0, "%v", seen)
	}
}

// TestLazyHash counts: one member and a program need no hash; two lookups of a
// packet compute it once.
func TestLazyHash(t *testing.T) {
	b := newTestBuilder()
	mustAdd(t, b, "a udp 0.0.0.0:80 reuseport")
	q := udpq(b, "10.0.0.9:1", "10.0.0.1:80")
	b.Publish().UDPLookup(q)
	require.Equal(t, [2]uint8{0, 1}, [2]uint8{q.Computed, q.Saved})
	mustAdd(t, b, "b udp 0.0.0.0:80 reuseport")
	v := b.Publish()
	v.UDPLookup(q)
	require.Equal(t, [2]uint8{1, 0}, [2]uint8{q.Computed, q.Saved}, "needed after all")
	v.UDPLookup(q)
	require.Equal(t, uint8(1), q.Computed)
	q.Reset()
	require.NoError(t, b.Attach(1, asm(t, "ret #1")))
	q.Prog = &cbpf.Input{}
	v = b.Publish()
	v.UDPLookup(q)
	v.UDPLookup(q)
	require.Equal(t, [2]uint8{0, 1}, [2]uint8{q.Computed, q.Saved})
	q.Reset()
	q.SetSum(7)
	q.SetSum(7)
	require.Equal(t, uint8(1), q.Computed)
	require.Equal(t, flowtable.Sum(7), q.SumIn(&v.VRFs[0]))
	b.AddVRF("red")
	v = b.Publish()
	q.VRF = 1
	q.Reset()
	own, def := q.SumIn(&v.VRFs[1]), q.SumIn(&v.VRFs[0])
	require.NotEqual(t, own, def)
	require.Equal(t, def, q.SumIn(&v.VRFs[0]))
	require.Equal(t, uint8(2), q.Computed)
	q.VRF = 0
	q.Reset()
	require.NotEqual(t, def, q.SumIn(&v.VRFs[1]))
}

// TestHasConns: a member with an address that connects flags the group for
// ever, a wildcard-bound one does not (section 5.2).
func TestHasConns(t *testing.T) {
	b := newTestBuilder()
	for i := range 3 {
		mustAdd(t, b, fmt.Sprintf("s%d udp 10.0.0.1:80 reuseport", i))
		mustAdd(t, b, fmt.Sprintf("w%d udp 0.0.0.0:81 reuseport", i))
	}
	require.NoError(t, b.Connect(b.Lookup("s1"), ap("10.0.0.9:9"), netip.Addr{}))
	require.NoError(t, b.Connect(b.Lookup("w1"), ap("10.0.0.9:9"), netip.MustParseAddr("10.0.0.1")))
	v := b.Publish()
	s, w := v.Group(int(v.Sock(b.Lookup("s0")).Group-1)), v.Group(int(v.Sock(b.Lookup("w0")).Group-1))
	require.True(t, s.HasConns())
	require.False(t, w.HasConns())
	require.Equal(t, []SockID{b.Lookup("s0"), b.Lookup("s2")}, s.Members())
	require.Equal(t, []SockID{b.Lookup("w0"), b.Lookup("w2")}, w.Members())
	require.Equal(t, b.Lookup("w1"), v.UDPEarly(udpq(b, "10.0.0.9:9", "10.0.0.1:81")))
	require.Zero(t, v.UDPEarly(udpq(b, "10.0.0.9:9", "10.0.0.1:80")), "it stays where it is in the chain: behind s2")

	// Section 15: a socket that binds later re-adopts a connected one.
	mustAdd(t, b, "late udp 10.0.0.1:81 reuseport")
	v = b.Publish()
	g := v.Group(int(v.Sock(b.Lookup("late")).Group - 1))
	require.Equal(t, []SockID{b.Lookup("w1"), b.Lookup("late")}, g.Members())
	for p := range 20 {
		r := v.UDPLookup(udpq(b, fmt.Sprintf("10.0.0.8:%d", p+1), "10.0.0.1:81"))
		require.Equal(t, b.Lookup("late"), r.Sock, "the hash skips the connected member")
	}
	require.NoError(t, b.Attach(b.Lookup("late"), asm(t, "ret #0")))
	q := udpq(b, "10.0.0.8:1", "10.0.0.1:81")
	q.Prog = &cbpf.Input{}
	require.Equal(t, b.Lookup("w1"), b.Publish().UDPLookup(q).Sock, "a program may choose it")
}

// TestMigrate: with tcp_migrate_req a closed listener's requests find a live
// member; without it, or with nobody left, they do not (section 6.10).
func TestMigrate(t *testing.T) {
	for _, on := range []bool{false, true} {
		b := newTestBuilder()
		s := DefaultSysctl()
		s.TCPMigrateReq = on
		b.SetSysctl(0, s)
		require.Equal(t, on, b.Sysctl(0).TCPMigrateReq)
		for i := range 3 {
			mustAdd(t, b, fmt.Sprintf("s%d tcp 0.0.0.0:80 reuseport", i))
		}
		b.Close(2)
		v := b.Publish()
		require.False(t, v.Listening(2))
		require.False(t, v.Sock(2).Alive())
		require.Zero(t, b.Lookup("s1"))
		for h := range 64 {
			got := v.Migrate(2, uint32(h)<<26)
			if on {
				require.Contains(t, []SockID{1, 3}, got)
			} else {
				require.Zero(t, got)
			}
		}
		b.Close(1)
		b.Close(3)
		v = b.Publish()
		require.Zero(t, v.Migrate(2, 1))
		require.Zero(t, v.Migrate(99, 1))
		mustAdd(t, b, "s1 tcp 0.0.0.0:80 reuseport")
		require.Equal(t, SockID(4), b.Publish().TCPListener(tcpq(b, "10.0.0.9:9", "10.0.0.1:80")).Sock)
	}
}

// TestClosedMembersGiveWay: at the size limit a closed member is evicted.
func TestClosedMembersGiveWay(t *testing.T) {
	b := newTestBuilder()
	s := DefaultSysctl()
	s.TCPMigrateReq = true
	b.SetSysctl(0, s)
	for i := range 32768 {
		mustAdd(t, b, fmt.Sprintf("s%d tcp 0.0.0.0:80 reuseport", i))
	}
	b.Close(5)
	require.NotZero(t, b.Publish().Migrate(5, 77))
	mustAdd(t, b, "more tcp 0.0.0.0:80 reuseport")
	v := b.Publish()
	require.Equal(t, 32768, v.GroupSize(0))
	require.Zero(t, v.Migrate(5, 77), "forgotten")
}
