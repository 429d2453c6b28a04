//go:build dpdk

package dpdk

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var oneQueue = PoolNeed{RxQueues: 1, RxDesc: 1024, TxQueues: 1, TxDesc: 1024, Lcores: 1, Burst: MaxBurst, MTU: 1500}

func TestPcapPortInAndOut(t *testing.T) {
	if !alone(t) {
		return
	}
	var frames [][]byte
	for i := range 200 {
		frames = append(frames, udpFrame(t, "10.0.0.1", "10.0.0.2", uint16(i), 53, i, 10))
	}
	in, out := pcapFile(t, frames...), t.TempDir()+"/out.pcap"
	e := eal(t)
	p := open(t, e, PortOptions{Device: "net_pcap0,rx_pcap=" + in + ",tx_pcap=" + out, Pools: []*Pool{pool(t, e, oneQueue)}, Index: 3, CPUs: []uint16{9}})
	q, tx := p.Rx(0), p.Tx(0)
	require.True(t, q.Flushes(tx))
	at := 0
	poll(t, q, len(frames), func(i int, b []byte) {
		require.Equal(t, frames[at], b)
		f := q.frames[i]
		require.Equal(t, uint16(3), f.Port)
		require.Equal(t, uint16(9), f.CPU)
		require.Equal(t, uint16(1), f.Link)
		require.Equal(t, uint32(len(b)), f.WireLen)
		require.Equal(t, q.Now(), f.TS)
		require.Equal(t, uint64(at+1), f.Num)
		require.InDelta(t, time.Now().UnixNano(), f.TS, 1e9)
		require.Equal(t, &b[0], &q.Mbuf(i).Head()[0])
		require.Equal(t, len(b), q.Mbuf(i).Len())
		if at%2 == 0 {
			require.True(t, Echo(b))
			require.True(t, tx.Put(q.Keep(i)))
		}
		at++
	})
	require.Empty(t, q.Poll(), "net_pcap has no more; this poll sent the rest")
	require.Equal(t, uint64(100), tx.Stats().Sent)
	require.Zero(t, tx.Stats().Refused)
	s, err := p.Stats()
	require.NoError(t, err)
	require.Equal(t, uint64(200), s.RxPackets)
	require.Equal(t, uint64(100), s.TxPackets)
	require.Equal(t, s.TxBytes, tx.Stats().Bytes)
	x, err := p.XStats()
	require.NoError(t, err)
	require.Contains(t, x, XStat{"rx_good_packets", 200})
	require.NoError(t, p.ResetStats())
	require.NoError(t, p.Close())

	back := open(t, e, PortOptions{Device: "net_pcap1,rx_pcap=" + out + ",tx_pcap=/dev/null", Pools: p.o.Pools})
	at = 0
	poll(t, back.Rx(0), 100, func(_ int, b []byte) {
		want := bytes.Clone(frames[at])
		Echo(want)
		require.Equal(t, want, b)
		at += 2
	})
}

func TestInfiniteRxHoldsNoMbufs(t *testing.T) {
	if !alone(t) {
		return
	}
	var frames [][]byte
	for i := range 64 {
		frames = append(frames, udpFrame(t, "10.0.0.1", "10.0.0.2", uint16(i), 53, 18))
	}
	e := eal(t)
	mp := pool(t, e, oneQueue)
	p := open(t, e, PortOptions{Device: "net_pcap0,rx_pcap=" + pcapFile(t, frames...) + ",infinite_rx=1", Pools: []*Pool{mp}})
	q := p.Rx(0)
	base := mp.InUse()
	for _, burst := range []int{1, 2, 3, 7, 64} {
		q.SetBurst(burst)
		for range 1000 {
			require.Len(t, q.Poll(), burst)
		}
		require.Equal(t, base+burst, mp.InUse(), "one burst in hand")
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() { q.Poll() }))
	q.Release()
	require.Equal(t, base, mp.InUse())
}

// A frame longer than the data room comes in several mbufs, and contiguous.
func TestMultiSegmentFrames(t *testing.T) {
	if !alone(t) {
		return
	}
	big := udpFrame(t, "10.0.0.1", "10.0.0.2", 7, 9, 5000)
	small := udpFrame(t, "10.0.0.1", "10.0.0.2", 7, 9, 50)
	e := eal(t)
	n := oneQueue
	n.MTU = 9000
	mp := pool(t, e, n)
	in := pcapFile(t, small, big, small, big)
	p := open(t, e, PortOptions{Device: "net_pcap0,rx_pcap=" + in + ",tx_pcap=/dev/null", Pools: []*Pool{mp}, MaxFrame: 6000})
	var got [][]byte
	q := p.Rx(0)
	q.SetBurst(4)
	var kept Mbuf
	poll(t, q, 4, func(i int, b []byte) {
		got = append(got, bytes.Clone(b))
		if len(got) == 2 {
			kept = q.Keep(i)
		}
	})
	require.Equal(t, [][]byte{small, big, small, big}, got)
	require.Equal(t, uint64(2), q.Stats().Linearised)
	require.Zero(t, q.Stats().Cut)
	q.Release()
	require.Equal(t, big[:2048], kept.Head(), "the first segment survives the burst")
	require.Equal(t, len(big), kept.Len())
	FreeBurst([]Mbuf{kept})
	require.NoError(t, p.Close())

	p = open(t, e, PortOptions{Device: "net_pcap0,rx_pcap=" + in + ",tx_pcap=/dev/null", Pools: []*Pool{mp}, MaxFrame: 3000})
	poll(t, p.Rx(0), 4, func(i int, b []byte) {
		f := p.Rx(0).frames[i]
		require.Equal(t, min(3000, int(f.WireLen)), len(b))
	})
	require.Equal(t, uint64(2), p.Rx(0).Stats().Cut)
}

func TestNullPortAndRefusals(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t)
	mp := pool(t, e, PoolNeed{RxQueues: 2, RxDesc: 512, TxQueues: 2, TxDesc: 512, Lcores: 2, Burst: MaxBurst, MTU: 1500})
	p := open(t, e, PortOptions{Device: "net_null0,size=60", RxQueues: 2, TxQueues: 2, Pools: []*Pool{mp},
		RSSKey: bytes.Repeat([]byte{0x6d}, 52), RETA: []uint16{1, 0}, Promiscuous: true, Checksum: true, VLANStrip: true})
	info := p.Info()
	require.Equal(t, "net_null", info.Driver)
	require.Equal(t, 2, info.RxQueues)
	require.NotZero(t, info.RSSOn)
	require.Contains(t, info.Notes, "UDP checksums in software")
	require.Contains(t, info.Notes, "VLAN tags stay in the bytes")
	for i := range 2 {
		require.Len(t, p.Rx(i).Poll(), MaxBurst)
		require.Len(t, p.Rx(i).frames[0].Data, 60)
	}
	l, err := p.Link()
	require.NoError(t, err)
	require.True(t, l.Up)
	require.NoError(t, p.Stop())
	require.NoError(t, p.Start())

	for _, c := range []struct {
		o    PortOptions
		want string
	}{
		{PortOptions{Device: "net_nosuch0"}, "net_nosuch0: attach: no bus or driver of DPDK knows it: "},
		{PortOptions{Device: "net_null1", RxQueues: 65}, "net_null1: options: 65 rx"},
		{PortOptions{Device: "net_pcap0,rx_pcap=/no/such/file.pcap"}, "net_pcap0,rx_pcap=/no/such/file.pcap: "},
		{PortOptions{Device: "net_pcap1,rx_pcap=" + pcapFile(t), RxQueues: 2}, "2 rx and 1 tx queues: the device has 1 and 1"},
		{PortOptions{Device: "net_null1", RxQueues: 2, RSSKey: make([]byte, 8)}, "net_null1: configure: RSS key of 8 bytes: the device wants 40"},
		{PortOptions{Device: "net_null1", RETA: []uint16{1}}, "redirection to queue 1 of 1"},
		{PortOptions{Device: "net_null1", Burst: 65}, "burst of 65: at most 64"},
		{PortOptions{}, "no device string"},
	} {
		c.o.Pools = []*Pool{mp}
		_, err := e.OpenPort(c.o)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
		t.Log(err)
	}
	again := open(t, e, PortOptions{Device: "net_null1", Pools: []*Pool{mp}})
	require.NotEmpty(t, again.Rx(0).Poll(), "what was refused can be opened after")
}

// A transmit queue that the device does not empty refuses, counts and frees.
func TestTxRefusals(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t)
	mp := pool(t, e, PoolNeed{RxQueues: 1, RxDesc: 1024, TxQueues: 1, TxDesc: 4096, Lcores: 1, Burst: MaxBurst, MTU: 1500})
	p := open(t, e, PortOptions{Device: "net_ring0", Pools: []*Pool{mp}}) // 1023 slots, sent packets come back
	tx := p.Tx(0)
	for i := 0; i < 1100; i++ {
		m, ok := mp.New(udpFrame(t, "10.0.0.1", "10.0.0.2", uint16(i), 53, 18))
		require.True(t, ok)
		if !tx.Put(m) {
			tx.Flush()
			require.True(t, tx.Put(m))
		}
	}
	require.Positive(t, tx.Waiting())
	tx.Flush()
	s := tx.Stats()
	require.Equal(t, uint64(1100), s.Sent+s.Refused)
	require.Equal(t, uint64(77), s.Refused)
	require.Equal(t, 1023, mp.InUse())
	at := 0
	poll(t, p.Rx(0), 1023, func(_ int, b []byte) {
		require.Equal(t, uint16(at), uint16(b[34])<<8|uint16(b[35]))
		at++
	})
	m, _ := mp.New([]byte("left waiting"))
	tx.Put(m)
}

func TestRingHandsOver(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t, cpu())
	mp := pool(t, e, oneQueue)
	r, err := e.NewRing("hand-over", 100, 0)
	require.NoError(t, err)
	require.Equal(t, 100, r.Cap())
	const total = 20000
	sum := 0
	require.NoError(t, e.Launch(1, func() {
		var m [MaxBurst]Mbuf
		for got := 0; got < total; {
			n := r.Get(m[:])
			for _, x := range m[:n] {
				sum += int(x.Head()[0])
			}
			FreeBurst(m[:n])
			got += n
		}
	}, nil))
	want := 0
	for i := 0; i < total; {
		m, ok := mp.New([]byte{byte(i)})
		if !ok {
			continue
		}
		for r.Put([]Mbuf{m}) == 0 {
			time.Sleep(time.Microsecond)
		}
		want += i & 0xff
		i++
	}
	require.NoError(t, e.Wait(1))
	require.Equal(t, want, sum)
	m, _ := mp.New([]byte{1})
	require.Equal(t, 1, r.Put([]Mbuf{m}))
	require.Equal(t, 1, r.Len())
	r.Close()
}
