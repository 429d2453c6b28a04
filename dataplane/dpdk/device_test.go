//go:build dpdk

package dpdk

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// sh runs commands in the caller's network namespace.
func sh(t *testing.T, lines ...string) {
	t.Helper()
	for _, l := range lines {
		f := strings.Fields(l)
		out, err := exec.Command(f[0], f[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", l, out)
	}
}

// peer is a thread in a network namespace of its own; what in runs there.
type peer struct {
	tid int
	do  chan func()
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	p := &peer{do: make(chan func())}
	born := make(chan error)
	go func() {
		runtime.LockOSThread() // and dies with it, so its namespace is no other goroutine's
		p.tid = unix.Gettid()
		born <- unix.Unshare(unix.CLONE_NEWNET)
		for f := range p.do {
			f()
		}
	}()
	require.NoError(t, <-born)
	t.Cleanup(func() { close(p.do) })
	return p
}

func (p *peer) in(f func()) {
	done := make(chan struct{})
	p.do <- func() { defer close(done); f() }
	<-done
}

const (
	ourMAC  = "02:00:00:00:00:01"
	peerMAC = "02:00:00:00:00:02"
	ours4   = "198.18.0.1"
	theirs4 = "198.18.0.2"
	ours6   = "2001:db8:18::1"
	theirs6 = "2001:db8:18::2"
)

// kernelSide gives the interface the peer's addresses and a fixed neighbour, us.
func kernelSide(t *testing.T, dev string) {
	t.Helper()
	sh(t, "ip link set lo up", "ip link set "+dev+" up",
		"ip addr add "+theirs4+"/24 dev "+dev, "ip -6 addr add "+theirs6+"/64 dev "+dev+" nodad",
		"ip neigh replace "+ours4+" lladdr "+ourMAC+" dev "+dev, "ip neigh replace "+ours6+" lladdr "+ourMAC+" dev "+dev)
}

// veth makes a pair: v0 here, v1 in the peer's namespace, offloads off, because
// veth would else hand over 64 KB frames with unfinished checksums.
func veth(t *testing.T, p *peer, mtu int) {
	t.Helper()
	sh(t, fmt.Sprintf("ip link add v0 mtu %d address %s type veth peer name v1 mtu %d address %s", mtu, ourMAC, mtu, peerMAC),
		fmt.Sprintf("ip link set v1 netns %d", p.tid), "ip link set v0 up")
	offloads := " tx off rx off tso off gso off gro off"
	sh(t, "ethtool -K v0"+offloads)
	p.in(func() {
		kernelSide(t, "v1")
		sh(t, "ethtool -K v1"+offloads)
	})
}

// echoing polls the port on an lcore and turns every UDP packet to port 7 around.
func echoing(t *testing.T, e *EAL, p *Port) (echoed *atomic.Uint64, stop func()) {
	t.Helper()
	var running atomic.Bool
	running.Store(true)
	echoed = new(atomic.Uint64)
	q, tx := p.Rx(0), p.Tx(0)
	require.True(t, q.Flushes(tx))
	require.NoError(t, e.Launch(1, func() {
		for running.Load() {
			frames := q.Poll()
			for i := range frames {
				m := q.Mbuf(i)
				b := m.Head()
				if off, _ := l3offset(b); len(b) < off+8 || bytes.Contains(b[:min(len(b), 16)], []byte{0x33, 0x33}) {
					continue
				}
				if Echo(b) {
					echoed.Add(1)
					require.True(t, tx.Put(q.Keep(i)))
				}
			}
			if len(frames) == 0 {
				time.Sleep(10 * time.Microsecond)
			}
		}
		tx.Flush()
		q.Release()
	}, nil))
	return echoed, func() {
		running.Store(false)
		require.NoError(t, e.Wait(1))
	}
}

// exchange sends n datagrams from the kernel's side to us and wants them back.
func exchange(t *testing.T, from, to string, n, size int) {
	t.Helper()
	c, err := net.DialUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}, &net.UDPAddr{IP: net.ParseIP(to), Port: 7})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	got := make([]byte, 65536)
	for i := range n {
		want := bytes.Repeat([]byte{byte(i)}, size)
		_, err := c.Write(want)
		require.NoError(t, err)
		k, err := c.Read(got)
		require.NoError(t, err, "echo %d of %d", i, n)
		require.Equal(t, want, got[:k])
	}
}

// rawExchange sends a frame as it is and waits for its echo.
func rawExchange(t *testing.T, dev string, frame, want []byte) {
	t.Helper()
	ifi, err := net.InterfaceByName(dev)
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300) // ETH_P_ALL in network order
	require.NoError(t, err)
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Ifindex: ifi.Index, Protocol: 0x0300}
	require.NoError(t, unix.Bind(fd, to))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1))
	require.NoError(t, unix.Sendto(fd, frame, 0, to))
	b, oob := make([]byte, 65536), make([]byte, 256)
	for {
		n, _, _, sa, err := unix.Recvmsg(fd, b, oob, 0)
		require.NoError(t, err)
		if sa.(*unix.SockaddrLinklayer).Pkttype != unix.PACKET_OUTGOING && bytes.HasSuffix(b[:n], want[18:]) {
			return // the kernel takes the tag off the bytes; what follows it is ours
		}
	}
}

func echoTest(t *testing.T, device string, mtu, size, room int) {
	peer := newPeer(t)
	veth(t, peer, mtu)
	e := eal(t, cpu())
	n := oneQueue
	n.MTU, n.DataRoom = mtu, room
	mp := pool(t, e, n)
	p := open(t, e, PortOptions{Device: device, Pools: []*Pool{mp}, RxDesc: 256, TxDesc: 256, VLANStrip: true})
	held := mp.InUse() // a device may fill its rings from our pool
	echoed, stop := echoing(t, e, p)
	peer.in(func() {
		exchange(t, theirs4, ours4, 200, size)
		exchange(t, theirs6, ours6, 200, size)
		tagged := udpFrame(t, "203.0.113.2", "203.0.113.1", 9, 7, 40, 100)
		copy(tagged, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2})
		back := bytes.Clone(tagged)
		require.True(t, Echo(back))
		rawExchange(t, "v1", tagged, back)
	})
	stop()
	require.InDelta(t, held, mp.InUse(), 64, "at most a few sent mbufs wait to be reclaimed")
	require.Equal(t, uint64(401), echoed.Load())
	require.Equal(t, uint64(401), p.Tx(0).Stats().Sent)
	require.Zero(t, p.Tx(0).Stats().Refused)
	s, err := p.Stats()
	require.NoError(t, err)
	require.Equal(t, uint64(401), s.TxPackets)
	require.Equal(t, p.Rx(0).Stats().Packets, s.RxPackets)
	l, err := p.Link()
	require.NoError(t, err)
	require.True(t, l.Up)
}

func TestAfPacketEchoesToTheKernel(t *testing.T) {
	if !aloneInNetns(t) {
		return
	}
	echoTest(t, "net_af_packet0,iface=v0", 1500, 1000, 0)
}

func TestAfPacketLargeFrames(t *testing.T) {
	if !aloneInNetns(t) {
		return
	}
	echoTest(t, "net_af_packet0,iface=v0,framesz=16384,blocksz=16384,framecnt=256", 9000, 8000, 16384)
}

func TestAfXDPEchoesToTheKernel(t *testing.T) {
	if !aloneInNetns(t) {
		return
	}
	echoTest(t, "net_af_xdp0,iface=v0,force_copy=1", 1500, 1000, 0)
}

func TestTapEchoesToTheKernel(t *testing.T) {
	if !aloneInNetns(t) {
		return
	}
	_, err := os.Stat("/dev/net/tun")
	need(t, err == nil, "/dev/net/tun")
	e := eal(t, cpu())
	mp := pool(t, e, oneQueue)
	p := open(t, e, PortOptions{Device: "net_tap0,iface=tap0,mac=" + ourMAC, Pools: []*Pool{mp}, Promiscuous: true, Checksum: true})
	require.Equal(t, ourMAC, p.MAC().String())
	sh(t, "ip link set tap0 down", "ip link set tap0 address "+peerMAC)
	kernelSide(t, "tap0")
	echoed, stop := echoing(t, e, p)
	exchange(t, theirs4, ours4, 200, 1000)
	exchange(t, theirs6, ours6, 200, 1000)
	stop()
	require.Equal(t, uint64(400), echoed.Load())
	_, err = e.OpenPort(PortOptions{Device: "net_tap1,iface=tap1", Pools: []*Pool{mp}, MTU: 9000})
	require.ErrorContains(t, err, "net_tap1,iface=tap1: ")
	t.Log(err)
	_, err = e.OpenPort(PortOptions{Device: "net_tap2,iface=tap2", Pools: []*Pool{mp}, RxQueues: 2, TxQueues: 2, RSSKey: make([]byte, 8)})
	require.ErrorContains(t, err, "RSS key of 8 bytes: the device wants 40")
}
