//go:build dpdk

package dpdk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/packet"
)

// randomFrame is a frame as a capture may hold it, now and then a huge one.
func randomFrame(r *rand.Rand) packet.Frame {
	n := r.IntN(300)
	if r.IntN(50) == 0 {
		n = r.IntN(maxFrame + 1)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return packet.Frame{
		Data: b, TS: r.Int64(), Num: r.Uint64(), WireLen: uint32(n + r.IntN(2)*r.IntN(100)),
		Port: uint16(r.Uint32()), CPU: uint16(r.Uint32()), Link: uint16(r.Uint32()), TCI: uint16(r.Uint32()),
		Dir: packet.Dir(r.IntN(3)), PktType: packet.PktType(r.IntN(5)),
		HasPktType: r.IntN(2) == 0, HasQueue: r.IntN(2) == 0, VLANStripped: r.IntN(2) == 0,
	}
}

// Whatever goes in comes out on the lcores: same bytes, same facts, same order,
// with a pool and a ring far smaller than the capture.
func TestFeedIsLosslessAndOrdered(t *testing.T) {
	if !alone(t) {
		return
	}
	const queues, total = 2, 4000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	e := eal(t, cpu())
	mp := pool(t, e, PoolNeed{RxQueues: queues, RxDesc: 1024, Lcores: 1, Burst: MaxBurst, MTU: 1500, Meta: true})
	p, feeders, err := e.OpenFeed(PortOptions{RxQueues: queues, TxQueues: queues, Pools: []*Pool{mp}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.NoError(t, p.Start())

	frames := make([]packet.Frame, total)
	for i := range frames {
		frames[i] = randomFrame(r)
	}
	wrong := ""
	require.NoError(t, e.Launch(1, func() {
		var last [queues]uint64
		for got := 0; got < total; {
			for i := range queues {
				q := p.Rx(i)
				for k, f := range q.Poll() {
					s := q.Seq(k)
					want := frames[s-1]
					if !bytes.Equal(want.Data, f.Data) || int(s-1)%queues != i || s <= last[i] {
						wrong = fmt.Sprintf("frame %d on queue %d after %d: %d bytes for %d", s, i, last[i], len(f.Data), len(want.Data))
					}
					last[i] = s
					f.Data, want.Data = nil, nil
					if fmt.Sprint(f) != fmt.Sprint(want) {
						wrong = fmt.Sprintf("frame %d: %+v for %+v", s, f, want)
					}
					got++
				}
			}
		}
		p.Rx(0).Release()
		p.Rx(1).Release()
	}, nil))
	for i := range frames {
		d := feeders[i%queues]
		for !d.Stage(&frames[i], uint64(i+1)) {
			if d.Push() > 0 {
				time.Sleep(10 * time.Microsecond)
			}
		}
	}
	for _, d := range feeders {
		for d.Push() > 0 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	require.NoError(t, e.Wait(1))
	require.Empty(t, wrong)
	require.Equal(t, uint64(total), feeders[0].Stats().Fed+feeders[1].Stats().Fed)
	require.Zero(t, mp.InUse())

	big := packet.Frame{Data: make([]byte, 3*2048)}
	require.True(t, feeders[0].Stage(&big, 1), "staged, never pushed")
	require.True(t, feeders[1].Stage(&big, 1))
	require.Zero(t, feeders[1].Push(), "in the ring, never polled")
	for _, d := range feeders {
		d.Close()
	}
}

func TestFeedAllocatesNothing(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t)
	mp := pool(t, e, PoolNeed{RxQueues: 1, RxDesc: 1024, Lcores: 1, Burst: MaxBurst, MTU: 1500, Meta: true})
	p, feeders, err := e.OpenFeed(PortOptions{Pools: []*Pool{mp}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.NoError(t, p.Start())
	f := packet.Frame{Data: udpFrame(t, "10.0.0.1", "10.0.0.2", 1, 2, 18), WireLen: 60}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		feeders[0].Stage(&f, 1)
		feeders[0].Push()
		p.Rx(0).Poll()
	}))
	feeders[0].Close()
	plain := pool2(t, e)
	_, _, err = e.OpenFeed(PortOptions{Pools: []*Pool{plain}})
	require.ErrorContains(t, err, "pool plain: feed a capture: made without Meta")
}

func pool2(t *testing.T, e *EAL) *Pool {
	t.Helper()
	p, err := e.NewPool("plain", SizePool(PoolNeed{RxDesc: 64, RxQueues: 1}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}
