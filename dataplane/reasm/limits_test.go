package reasm

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// TestTimeout: from the first fragment that came, whatever came later, and
// decided when the next one looks.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		f       func(int, int, bool) packet.Frame
		timeout int64
	}{{frag4, 30 * sec}, {frag6, 60 * sec}} {
		r := newRig(t)
		r.held(c.f(40, 40, true))
		r.now = c.timeout - 1
		r.held(c.f(80, 40, true))
		r.now = c.timeout
		res := r.add(c.f(0, 40, true))
		require.Equal(t, Held, res.Outcome)
		require.EqualValues(t, 1, res.TimedOut)
		require.EqualValues(t, 1, res.Failed)
		require.EqualValues(t, 1, r.tab.Stats().Queues, "the late one begins anew")

		w := r.tab.Sweep(r.now+c.timeout-1, 100)
		require.Zero(t, w)
		w = r.tab.Sweep(r.now+c.timeout, 100)
		require.EqualValues(t, 1, w.V4+w.V6)
		r.empty()
	}
}

func TestSweepKeepsToItsBudget(t *testing.T) {
	r := newRig(t)
	for i := range 100 {
		f := packettest.New().IPv4(addr("10.1.0.0").Next(), v4b).ID(uint32(i)).Fragment(0, true).Proto(17).PayloadLen(16).Frame()
		r.held(f)
	}
	total := uint32(0)
	for range 10 {
		n := r.tab.Sweep(40*sec, 10).V4
		require.LessOrEqual(t, n, uint32(10))
		total += n
	}
	for range nShards {
		total += r.tab.Sweep(40*sec, 10).V4
	}
	require.EqualValues(t, 100, total)
	r.empty()
}

// TestMemory: above the limit every fragment is refused, of queues that wait
// too; time gives the memory back.
func TestMemory(t *testing.T) {
	r := newRig(t)
	r.tab = New(Config{Bytes: 100_000})
	n := uint32(0)
	for ; ; n++ {
		res := r.add(frag4id(n, 0, 1000, true))
		if res.Outcome == Dropped {
			require.Equal(t, mib.NoMem, res.Reason)
			require.EqualValues(t, 1, res.Failed)
			break
		}
	}
	require.EqualValues(t, 100_000/(blockSize+queueCharge)+1, n)
	require.LessOrEqual(t, r.tab.Stats().Bytes, int64(100_000+blockSize+queueCharge))
	r.dropped(frag4id(1, 1000, 8, false), mib.NoMem)
	r.held(frag6(0, 40, true)) // the other family has its own
	r.now = 30 * sec
	res := r.add(frag4id(1, 1000, 8, true))
	require.Equal(t, Held, res.Outcome)
	require.Equal(t, n, res.TimedOut)
	require.EqualValues(t, 2, r.tab.Stats().Queues)
	r.tab.Sweep(200*sec, 10)
	r.empty()
}

// TestMemoryIsBounded floods a table for a while and looks at the arenas.
func TestMemoryIsBounded(t *testing.T) {
	r := newRig(t)
	r.tab = New(Config{Bytes: 200_000})
	for i := range uint32(20_000) {
		r.now += sec / 100
		r.add(frag4id(i, 0, 8000, true))
	}
	require.LessOrEqual(t, r.tab.v4.blocks.slots, uint32(200_000/blockSize+slabLen+8))
	require.LessOrEqual(t, r.tab.v4.queues.slots, uint32(200_000/(4*blockSize)+slabLen))
	r.tab.Sweep(1000*sec, 1<<20)
	r.empty()
}

// TestTooFar: a queue that its source has left behind by more than 64
// fragments starts anew, and its time too (ip_frag_too_far).
func TestTooFar(t *testing.T) {
	r := newRig(t)
	r.held(frag4id(1, 0, 40, true))
	for i := range uint32(MaxDist - 1) {
		r.held(frag4id(100+i, 0, 40, true))
	}
	require.Equal(t, Complete, r.add(frag4id(1, 40, 8, false)).Outcome, "63 between")

	r = newRig(t)
	r.held(frag4id(1, 0, 40, true))
	for i := range uint32(MaxDist) {
		r.held(frag4id(100+i, 0, 40, true))
	}
	r.now = 20 * sec
	res := r.add(frag4id(1, 40, 8, false))
	require.Equal(t, Held, res.Outcome, "64 between: what had come is gone")
	require.EqualValues(t, 1, res.Failed)
	require.Zero(t, res.TimedOut)
	r.now = 40 * sec
	require.Equal(t, Complete, r.add(frag4id(1, 0, 40, true)).Outcome, "within 30 s of the new start")

	r = newRig(t)
	r.held(frag4id(1, 0, 40, true))
	for i := range uint32(MaxDist) {
		r.held(packettest.New().IPv4(v4b, v4a).ID(i).Fragment(0, true).Proto(17).PayloadLen(16).Frame())
	}
	require.Equal(t, Complete, r.add(frag4id(1, 40, 8, false)).Outcome, "others' fragments do not count")
	r = newRig(t)
	r.held(frag6(0, 40, true))
	for i := range uint32(2 * MaxDist) {
		r.held(packettest.New().IPv6(v6a, v6b).FragHdr(100+i).Fragment(0, true).Proto(17).PayloadLen(16).Frame())
	}
	require.Equal(t, Complete, r.add(frag6(40, 8, false)).Outcome, "IPv6 has no such rule")
}

// TestAllocatesNothing once the arena has its size.
func TestAllocatesNothing(t *testing.T) {
	_, fs := datagram4(9000, 1480, 7)
	_, gs := datagram6(9000, 1480, 7)
	fs = append(fs, gs...)
	metas := make([]packet.Meta, len(fs))
	for i := range fs {
		metas[i] = parse(t, &fs[i])
	}
	tab := New(Config{})
	var buf Buffer
	var x Fragment
	done := 0
	n := testing.AllocsPerRun(50, func() {
		for i := range fs {
			x = Fragment{Frame: &fs[i], Meta: &metas[i]}
			if tab.Add(&x, &buf).Outcome == Complete {
				done++
			}
		}
		tab.Sweep(1, 10)
	})
	require.Zero(t, n)
	require.Equal(t, 2*51, done)
}

// TestManyLcores feeds one table from several goroutines: each datagram's
// fragments come from all of them, and each is completed exactly once.
func TestManyLcores(t *testing.T) {
	const lcores, datagrams = 4, 300
	tab := New(Config{Bytes: 64 << 20})
	type part struct {
		f packet.Frame
		m packet.Meta
	}
	parts := make([][]part, lcores)
	for d := range uint32(datagrams) {
		src := v6a.As16()
		src[15] = byte(d % 8)
		b := packettest.New().IPv6(netip.AddrFrom16(src), v6b).UDP(1, 2).PayloadLen(32*lcores - 8)
		for i, f := range b.Fragments(32, d) {
			parts[i%lcores] = append(parts[i%lcores], part{f, parse(t, &f)})
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	done, failed := 0, uint32(0)
	for i := range lcores {
		wg.Go(func() {
			var buf Buffer
			n, bad := 0, uint32(0)
			for j := range parts[i] {
				p := &parts[i][j]
				r := tab.Add(&Fragment{Frame: &p.f, Meta: &p.m}, &buf)
				bad += r.Failed
				if r.Outcome == Complete {
					n++
				}
				tab.Sweep(0, 4)
			}
			mu.Lock()
			done += n
			failed += bad
			mu.Unlock()
		})
	}
	wg.Wait()
	require.Equal(t, datagrams, done)
	require.Zero(t, failed)
	(&rig{t: t, tab: tab}).empty()
}

func BenchmarkAdd(b *testing.B) {
	_, fs := datagram4(2900, 1480, 7)
	metas := make([]packet.Meta, len(fs))
	for i := range fs {
		metas[i] = parse(b, &fs[i])
	}
	tab := New(Config{})
	var buf Buffer
	b.ReportAllocs()
	for b.Loop() {
		for i := range fs {
			tab.Add(&Fragment{Frame: &fs[i], Meta: &metas[i]}, &buf)
		}
	}
}
