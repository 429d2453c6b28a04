// Package porttest is the test that every implementation of port.RxQueue
// passes: the capture player, DPDK, and those of tests.
//
// Job: check the contract that lcores rely on. Threads: that of the test.
package porttest

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/dataplane/port"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Open makes a started port with index 3 on which exactly these Ethernet frames
// arrive, once, in this order on a port with one queue.
type Open func(t testing.TB, frames [][]byte) port.Port

// Index is the index of the port that Open makes.
const Index = 3

// Frames are n different UDP datagrams of n flows.
func Frames(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		src := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		all[i] = packettest.New().Eth(packettest.MAC{2, 0, 0, 0, 0, 9}, packettest.MAC{2, 0, 0, 0, 0, 1}).
			IPv4(src, netip.AddrFrom4([4]byte{10, 0, 0, 1})).UDP(uint16(1024+i), 53).Payload(fmt.Appendf(nil, "frame %06d", i)).Bytes()
	}
	return all
}

// patience is how long frames may take to arrive.
const patience = 10 * time.Second

// Conform runs the contract.
func Conform(t *testing.T, open Open) {
	t.Run("every frame once", func(t *testing.T) { everyFrame(t, open) })
	t.Run("borrowed until the next call", func(t *testing.T) { borrowed(t, open) })
	t.Run("free", func(t *testing.T) { free(t, open) })
	t.Run("allocates nothing", func(t *testing.T) { allocations(t, open) })
}

func start(t *testing.T, open Open, frames [][]byte) port.Port {
	p := open(t, frames)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// poll calls RxBurst of every queue until n frames came.
func poll(t *testing.T, p port.Port, n int, f func(q int, frames []packet.Frame)) {
	t.Helper()
	now := time.Now().UnixNano()
	for deadline := time.Now().Add(patience); n > 0; {
		for i, q := range p.Queues() {
			at := time.Now()
			got := q.RxBurst(now)
			assert.Less(t, time.Since(at), time.Second, "RxBurst blocks")
			now++
			f(i, got)
			n -= len(got)
		}
		require.True(t, time.Now().Before(deadline), "%d frames did not arrive", n)
	}
}

func everyFrame(t *testing.T, open Open) {
	want := Frames(1000)
	p := start(t, open, want)
	seen := map[string]int{}
	perQueue := make([]uint64, len(p.Queues()))
	last := make([]int64, len(p.Queues()))
	poll(t, p, len(want), func(q int, frames []packet.Frame) {
		assert.LessOrEqual(t, len(frames), port.MaxBurst)
		for i := range frames {
			f := &frames[i]
			seen[string(f.Data)]++
			require.EqualValues(t, Index, f.Port)
			require.EqualValues(t, packet.LinkEthernet, f.Link)
			require.EqualValues(t, len(f.Data), f.WireLen)
			require.GreaterOrEqual(t, f.TS, last[q], "time goes back")
			last[q] = f.TS
		}
		perQueue[q] += uint64(len(frames))
	})
	assert.Len(t, seen, len(want))
	for i, f := range want {
		assert.Equal(t, 1, seen[string(f)], "frame %d", i)
	}
	for i, q := range p.Queues() {
		assert.Empty(t, q.RxBurst(last[i]+1), "more than what arrived")
		assert.Equal(t, perQueue[i], q.Stats().Frames)
	}
	assert.NoError(t, p.Err())
}

func borrowed(t *testing.T, open Open) {
	want := Frames(500)
	p := start(t, open, want)
	type held struct {
		frames []packet.Frame
		copies [][]byte
	}
	holds := make([]held, len(p.Queues()))
	check := func(q int) {
		for i := range holds[q].frames {
			require.True(t, bytes.Equal(holds[q].copies[i], holds[q].frames[i].Data), "bytes changed while they were borrowed")
		}
	}
	now := time.Now().UnixNano()
	total := 0
	for deadline := time.Now().Add(patience); total < len(want); now++ {
		for i, q := range p.Queues() {
			check(i) // other queues were polled meanwhile
			h := held{frames: q.RxBurst(now)}
			for j := range h.frames {
				h.copies = append(h.copies, bytes.Clone(h.frames[j].Data))
			}
			holds[i] = h
			total += len(h.frames)
		}
		require.True(t, time.Now().Before(deadline))
	}
}

func free(t *testing.T, open Open) {
	want := Frames(300)
	p := start(t, open, want)
	for _, q := range p.Queues() {
		q.Free() // nothing in hand
	}
	poll(t, p, len(want), func(i int, _ []packet.Frame) {
		p.Queues()[i].Free()
		p.Queues()[i].Free()
	})
}

func allocations(t *testing.T, open Open) {
	want := Frames(2000)
	p := start(t, open, want)
	queues := p.Queues()
	now := time.Now().UnixNano()
	total := 0
	poll(t, p, 1, func(_ int, frames []packet.Frame) { total += len(frames) })
	n := testing.AllocsPerRun(50, func() {
		for _, q := range queues {
			now++
			total += len(q.RxBurst(now))
			_ = q.Stats()
			_ = q.Done()
		}
	})
	assert.Zero(t, n)
	assert.Positive(t, total)
}
