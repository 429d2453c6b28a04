package port_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/dataplane/port"
	"edemux/dataplane/port/porttest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const millisecond = int64(time.Millisecond)

// write makes a capture with a frame each millisecond.
func write(t testing.TB, frames [][]byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in.pcap")
	f, err := os.Create(name)
	require.NoError(t, err)
	w, err := capture.NewPcapWriter(f, packet.LinkEthernet)
	require.NoError(t, err)
	for i, b := range frames {
		x := packet.Frame{Data: b, Link: packet.LinkEthernet, WireLen: uint32(len(b)), TS: 1e18 + int64(i)*millisecond}
		require.NoError(t, w.Write(&x))
	}
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	return name
}

func start(t testing.TB, o port.PcapOptions) port.Port {
	t.Helper()
	p, err := port.OpenPcap(o)
	require.NoError(t, err)
	require.NoError(t, p.Start())
	return p
}

func options(file string, queues int) port.PcapOptions {
	o := port.PcapOptions{File: file, Name: "eth0", Index: porttest.Index, Loop: 1}
	for i := range queues {
		o.CPUs = append(o.CPUs, uint16(10+i))
	}
	return o
}

func TestPcapConforms(t *testing.T) {
	for _, queues := range []int{1, 3} {
		for _, retain := range []int64{0, 1} {
			porttest.Conform(t, func(t testing.TB, frames [][]byte) port.Port {
				o := options(write(t, frames), queues)
				o.Retain = retain
				return start(t, o)
			})
		}
	}
}

// drain polls until the queues are done and returns the frames by queue.
func drain(t *testing.T, p port.Port) (all [][]packet.Frame) {
	all = make([][]packet.Frame, len(p.Queues()))
	for deadline := time.Now().Add(10 * time.Second); ; {
		left := 0
		for i, q := range p.Queues() {
			all[i] = append(all[i], q.RxBurst(time.Now().UnixNano())...)
			if !q.Done() {
				left++
			}
		}
		if left == 0 {
			return all
		}
		require.True(t, time.Now().Before(deadline), "never done")
	}
}

func TestPcapLoops(t *testing.T) {
	file := write(t, porttest.Frames(100))
	for _, queues := range []int{1, 4} {
		for _, retain := range []int64{0, 1} {
			o := options(file, queues)
			o.Loop, o.Retain = 7, retain
			p := start(t, o)
			nums := map[uint64]bool{}
			for i, frames := range drain(t, p) {
				for _, f := range frames {
					assert.EqualValues(t, 10+i, f.CPU)
					assert.False(t, nums[f.Num], "number %d twice", f.Num)
					nums[f.Num] = true
				}
			}
			assert.Len(t, nums, 700)
			assert.True(t, nums[1] && nums[700])
			for _, q := range p.Queues() {
				assert.EqualValues(t, 7, q.Stats().Passes)
			}
			require.NoError(t, p.Close())
		}
	}
}

// TestPcapFlowsStayOnQueues: RSS sends a flow to the same queue in each pass.
func TestPcapFlowsStayOnQueues(t *testing.T) {
	o := options(write(t, porttest.Frames(64)), 4)
	o.Loop = 3
	p := start(t, o)
	defer p.Close()
	where := map[string]int{}
	used := map[int]bool{}
	for i, frames := range drain(t, p) {
		for _, f := range frames {
			if q, ok := where[string(f.Data)]; ok {
				require.Equal(t, q, i)
			}
			where[string(f.Data)] = i
			used[i] = true
		}
	}
	assert.Len(t, where, 64)
	assert.Len(t, used, 4)
}

// TestPcapPace drives the clock by hand: frames come when they are due, in the
// later passes too.
func TestPcapPace(t *testing.T) {
	file := write(t, porttest.Frames(10)) // 9 ms from first to last
	for _, c := range []struct {
		name string
		pace port.Pace
		at   []int64 // ms
		want []int
	}{
		{"real", port.Pace{Times: 1}, []int64{0, 4, 9, 10, 14, 20}, []int{1, 4, 5, 1, 4, 6}},
		{"2x", port.Pace{Times: 2}, []int64{0, 1, 2, 5, 10}, []int{1, 2, 2, 6, 10}},
		{"1000pps", port.Pace{PPS: 1000}, []int64{0, 5, 10, 12}, []int{1, 5, 5, 2}},
	} {
		for _, retain := range []int64{0, 1} {
			o := options(file, 1)
			o.Loop, o.Pace, o.Retain = 0, c.pace, retain
			p := start(t, o)
			q := p.Queues()[0]
			const t0 = int64(5e9)
			require.Eventually(t, func() bool { return len(q.RxBurst(t0)) == 1 }, 5*time.Second, time.Millisecond)
			for i, ms := range c.at[1:] {
				got := 0
				for tries := 0; got < c.want[i+1] && tries < 2000; tries++ { // a chunk may have to be read first
					got += len(q.RxBurst(t0 + ms*millisecond))
					if tries > 10 {
						time.Sleep(time.Millisecond)
					}
				}
				got += len(q.RxBurst(t0 + ms*millisecond))
				assert.Equal(t, c.want[i+1], got, "%s at %d ms, retain %d", c.name, ms, retain)
			}
			require.NoError(t, p.Close())
		}
	}
}

// TestPcapSettles: memory is filled again only after Settle has said that
// nobody looks at it any more.
func TestPcapSettles(t *testing.T) {
	var settled atomic.Int64
	o := options(write(t, porttest.Frames(30000)), 2)
	o.Loop, o.Retain = 2, 1
	o.Settle = func() { settled.Add(1) }
	p := start(t, o)
	defer p.Close()
	total := 0
	for _, frames := range drain(t, p) {
		total += len(frames)
	}
	assert.Equal(t, 60000, total)
	assert.Positive(t, settled.Load())
}

func TestPcapErrors(t *testing.T) {
	_, err := port.OpenPcap(options("no/such.pcap", 1))
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Contains(t, err.Error(), "port eth0: ")
	empty := start(t, options(write(t, nil), 2))
	defer empty.Close()
	for _, frames := range drain(t, empty) {
		assert.Empty(t, frames)
	}
	bad := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(bad, []byte("no capture at all"), 0o600))
	_, err = port.OpenPcap(options(bad, 1))
	assert.True(t, errors.Is(err, capture.ErrNotCapture))
}

func TestPcapWarnsOfTruncation(t *testing.T) {
	file := write(t, porttest.Frames(3))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, b[:len(b)-5], 0o600))
	o := options(file, 1)
	var said atomic.Int64
	o.Warn = func(string) { said.Add(1) }
	p := start(t, o)
	defer p.Close()
	assert.Len(t, drain(t, p)[0], 2)
	assert.EqualValues(t, 1, said.Load())
}

// TestPcapCloseWhileFeeding: closing does not wait for anybody to poll.
func TestPcapCloseWhileFeeding(t *testing.T) {
	o := options(write(t, porttest.Frames(30000)), 1)
	o.Loop, o.Retain = 0, 1
	p := start(t, o)
	p.Queues()[0].RxBurst(1)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
}
