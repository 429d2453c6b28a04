//go:build dpdk

package dpdk

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// benchQueue is one net_pcap queue that repeats 1,000 60-byte UDP frames for
// ever. A process has one EAL, so the benchmarks share it and never close it.
var benchQueue = sync.OnceValues(func() (*RxQueue, error) {
	t := new(testing.B)
	e, err := Init(Options{Prefix: "edemux-bench", MemoryMB: 192, Extra: []string{"--no-huge", "--no-shconf", "--no-pci"}})
	if err != nil {
		return nil, err
	}
	var frames [][]byte
	for i := range 1000 {
		frames = append(frames, udpFrame(t, fmt.Sprintf("10.0.%d.%d", i/250, i%250+1), "10.1.0.1", uint16(i), 53, 18))
	}
	n := oneQueue
	n.Reassembly = 2000 // the device keeps the file in mbufs
	mp, err := e.NewPool("bench", SizePool(n))
	if err != nil {
		return nil, err
	}
	p, err := e.OpenPort(PortOptions{Device: "net_pcap0,rx_pcap=" + pcapFile(t, frames...) + ",infinite_rx=1", Pools: []*Pool{mp}})
	if err != nil {
		return nil, err
	}
	return p.Rx(0), p.Start()
})

func queueForBench(b *testing.B) *RxQueue {
	b.Helper()
	q, err := benchQueue()
	if err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	b.Cleanup(runtime.UnlockOSThread)
	return q
}

// cpuTime is what this thread has worked, so that a busy machine does not count.
func cpuTime() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano())
}

func perPacket(b *testing.B, packets uint64, start time.Duration) {
	ns := float64(cpuTime()-start) / float64(packets)
	b.ReportMetric(ns, "ns/packet")
	b.ReportMetric(1e3/ns, "Mpps")
}

// BenchmarkPollGo is the receive loop in Go, one crossing a burst, reading the
// first byte of each frame.
func BenchmarkPollGo(b *testing.B) {
	q := queueForBench(b)
	var packets, sum uint64
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		fs := q.Poll()
		for i := range fs {
			sum += uint64(fs[i].Data[12])
		}
		packets += uint64(len(fs))
	}
	perPacket(b, packets, start)
	_ = sum
}

// BenchmarkPollC is the same poll in a loop that stays in C.
func BenchmarkPollC(b *testing.B) {
	q := queueForBench(b)
	b.ResetTimer()
	start := cpuTime()
	packets, _ := q.pollsInC(time.Duration(b.N) * time.Microsecond)
	perPacket(b, packets, start)
}

// BenchmarkSource is what the device costs by itself.
func BenchmarkSource(b *testing.B) {
	q := queueForBench(b)
	b.ResetTimer()
	start := cpuTime()
	packets, _ := q.Source(time.Duration(b.N) * time.Microsecond)
	perPacket(b, packets, start)
}

// BenchmarkCrossing is the price of entering C at all.
func BenchmarkCrossing(b *testing.B) {
	for b.Loop() {
		TSC()
	}
}
