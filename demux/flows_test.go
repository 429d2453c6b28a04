package demux

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

func manyFlows(n int, spread bool) []FlowSpec {
	fs := make([]FlowSpec, n)
	for i := range fs {
		fs[i] = FlowSpec{Key: flowtable.Key{
			Laddr: addr("10.0.0.1"), Lport: 53,
			Faddr: flowtable.V4(0xc0000000 + uint32(i>>4)), Fport: 1024 + uint16(i&15),
		}, Worker: uint32(i & 3)}
		if spread {
			fs[i].Key.Lport = 1024 + uint16(i%50000)
		}
	}
	return fs
}

func TestAddFlows(t *testing.T) {
	b := newTestBuilder()
	mustAdd(t, b, "dns udp 10.0.0.1:53")
	fs := manyFlows(1000, false)
	first, err := b.AddFlows("udp", fs)
	require.NoError(t, err)
	require.Equal(t, SockID(2), first)
	v := b.Publish()
	require.Equal(t, []FlowOp{{Proto: UDP, Sock: 2, N: 1000}}, b.TakeFlowOps())
	require.Empty(t, b.TakeFlowOps())
	for i := range fs {
		k := &fs[i].Key
		q := &Query{Saddr: k.Faddr, Daddr: k.Laddr, Sport: k.Fport, Dport: 53, Dif: 1, Proto: UDP, Hasher: b.Hasher}
		r := v.UDPLookup(q)
		require.Equal(t, first+SockID(i), r.Sock)
		require.Equal(t, PathEstablished, r.Path)
		q.NoFlow = true
		require.Equal(t, r, v.UDPLookup(q), "the scan finds it as well")
		require.Equal(t, fmt.Sprintf("udp/%d", i), v.Name(r.Sock))
		require.Equal(t, uint32(i&3), v.Sock(r.Sock).Worker)
	}
	require.Equal(t, first+999, v.UDPEarly(&Query{Saddr: fs[999].Key.Faddr, Daddr: fs[999].Key.Laddr, Sport: fs[999].Key.Fport, Dport: 53}), "the head")
	require.Zero(t, v.UDPEarly(&Query{Saddr: fs[5].Key.Faddr, Daddr: fs[5].Key.Laddr, Sport: fs[5].Key.Fport, Dport: 53}))
	require.Equal(t, SockID(1), v.UDPLookup(udpq(b, "192.0.2.1:1", "10.0.0.1:53")).Sock)
	b.Close(first + 7)
	ops := b.TakeFlowOps()
	require.Equal(t, FlowOp{Delete: true, Proto: UDP, Sock: first + 7, N: 1, Key: fs[7].Key}, ops[0])
	n := 0
	b.Publish().Socks(func(id SockID, s *Sock) bool { n++; return true })
	require.Equal(t, 1000, n)
	for _, bad := range []flowtable.Key{{}, {Laddr: addr("10.0.0.1"), Faddr: addr("::1"), Lport: 1, Fport: 1}, {Laddr: addr("0.0.0.0"), Faddr: addr("10.0.0.1"), Lport: 1, Fport: 1}} {
		_, err := b.AddFlows("bad", []FlowSpec{{Key: bad}})
		require.Error(t, err)
	}
}

// TestNewestConnectionWins: hash4 inserts at the head, so of two sockets with
// one four-tuple the last to connect gets the packets; when it closes, the other.
func TestNewestConnectionWins(t *testing.T) {
	b := newTestBuilder()
	a := mustAdd(t, b, "a udp 10.0.0.1:53 reuseaddr connect=10.0.0.9:9")
	c := mustAdd(t, b, "b udp 10.0.0.1:53 reuseaddr connect=10.0.0.9:9")
	q := udpq(b, "10.0.0.9:9", "10.0.0.1:53")
	require.Equal(t, c, b.Publish().UDPLookup(q).Sock)
	b.Close(c)
	require.Equal(t, a, b.Publish().UDPLookup(q).Sock)
}

// TestConnectAgain: only the first connect files a socket in the four-tuple
// table; after another one the scan finds it.
func TestConnectAgain(t *testing.T) {
	b := newTestBuilder()
	a := mustAdd(t, b, "a udp 10.0.0.1:53 reuseaddr connect=10.0.0.9:9")
	c := mustAdd(t, b, "b udp 10.0.0.1:53 reuseaddr connect=10.0.0.9:10")
	require.Len(t, b.TakeFlowOps(), 2)
	q := udpq(b, "10.0.0.9:10", "10.0.0.1:53")
	require.NoError(t, b.Connect(a, ap("10.0.0.9:10"), ap("10.0.0.1:1").Addr()))
	require.Equal(t, c, b.Publish().UDPLookup(q).Sock)
	require.Zero(t, b.Publish().UDPLookup(udpq(b, "10.0.0.9:9", "10.0.0.1:53")).Sock)
	require.Len(t, b.TakeFlowOps(), 1, "it left the table")
	b.Close(c)
	require.Equal(t, Result{Sock: a, Path: PathEstablished}, b.Publish().UDPLookup(q))
	require.Len(t, b.TakeFlowOps(), 1)
	require.NoError(t, b.Connect(a, ap("10.0.0.9:9"), ap("10.0.0.1:1").Addr()))
	require.Equal(t, a, b.Publish().UDPLookup(udpq(b, "10.0.0.9:9", "10.0.0.1:53")).Sock)
	require.False(t, b.TakeFlowOps()[0].Delete, "back at its first remote")
	b.Close(a)
	require.True(t, b.TakeFlowOps()[0].Delete)
	require.Empty(t, b.hashed4)
}

// TestPublishIsIncremental: with 300,000 flows in one chain, a change and a
// publish cost what changed, not the flows.
func TestPublishIsIncremental(t *testing.T) {
	b := newTestBuilder()
	_, err := b.AddFlows("udp", manyFlows(300000, false))
	require.NoError(t, err)
	b.Publish()
	start := time.Now()
	for i := range 200 {
		mustAdd(t, b, fmt.Sprintf("s%d udp 10.0.0.2:%d", i, 2000+i))
		b.Publish()
	}
	require.Less(t, time.Since(start), 2*time.Second)
}

// TestFlowMemory bounds the bytes of a connected socket.
func TestFlowMemory(t *testing.T) {
	const n = 200000
	fs := manyFlows(n, true)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := newTestBuilder()
	_, err := b.AddFlows("udp", fs)
	require.NoError(t, err)
	v := b.Publish()
	runtime.GC()
	runtime.ReadMemStats(&after)
	per := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes per connected socket", per)
	require.Less(t, per, 260.0)
	runtime.KeepAlive(v)
	runtime.KeepAlive(fs)
}
