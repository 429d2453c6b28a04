//go:build dpdk

package dpdkrun_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	ourMAC  = "02:00:00:00:00:01"
	peerMAC = "02:00:00:00:00:02"
	ours4   = "198.18.0.1"
	theirs4 = "198.18.0.2"
	ours6   = "2001:db8:18::1"
	theirs6 = "2001:db8:18::2"
)

// kernelSide gives an interface the peer's addresses and a fixed neighbour, us.
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

// echoes sends datagrams of the given size from many kernel sockets to port 7 of
// ours, and wants every one back on the socket that sent it.
func echoes(t *testing.T, to string, sockets, each, size int) {
	t.Helper()
	got := make([]byte, 65536)
	for s := range sockets {
		c, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: net.ParseIP(to), Port: 7})
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
		for i := range each {
			want := append(fmt.Appendf(nil, "%d/%d ", s, i), bytes.Repeat([]byte{byte(i)}, size)...)
			_, err := c.Write(want)
			require.NoError(t, err)
			n, err := c.Read(got)
			require.NoError(t, err, "echo %d of socket %d", i, s)
			require.Equal(t, want, got[:n])
		}
		require.NoError(t, c.Close())
	}
}

// tagged sends a tagged frame raw and waits for its echo, whose tag the kernel has
// put beside the bytes.
func tagged(t *testing.T, dev string, vid uint16) {
	t.Helper()
	ifi, err := net.InterfaceByName(dev)
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0x0300) // ETH_P_ALL in network order
	require.NoError(t, err)
	defer unix.Close(fd)
	to := &unix.SockaddrLinklayer{Ifindex: ifi.Index, Protocol: 0x0300}
	require.NoError(t, unix.Bind(fd, to))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	frame := packettest.New().Eth(packettest.MAC2, packettest.MAC1).VLAN(vid).
		IPv4(netip.MustParseAddr(theirs4), netip.MustParseAddr(ours4)).UDP(9, 7).Payload([]byte("tagged")).Pad(64).Bytes()
	require.NoError(t, unix.Sendto(fd, frame, 0, to))
	for b := make([]byte, 65536); ; {
		n, from, err := unix.Recvfrom(fd, b, 0)
		require.NoError(t, err, "the tagged frame's echo")
		if from.(*unix.SockaddrLinklayer).Pkttype != unix.PACKET_OUTGOING && bytes.Contains(b[:n], []byte("tagged")) {
			return
		}
	}
}

// snmp reads a counter of the namespace that the calling thread is in.
func snmp(t *testing.T, file, proto, name string) (n int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/thread-self/net/%s", file))
	require.NoError(t, err)
	var head []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case file == "snmp6" && f[0] == name, file == "dev_snmp6" && f[0] == name:
			n, _ = strconv.Atoi(f[1])
			return n
		case f[0] == proto+":" && head == nil:
			head = f
		case f[0] == proto+":":
			for i := range head {
				if head[i] == name {
					n, _ = strconv.Atoi(f[i])
					return n
				}
			}
		}
	}
	t.Fatalf("%s: no %s %s", file, proto, name)
	return 0
}

// watch runs tcpdump on an interface of the peer until the returned function is
// called, which counts the frames that match.
func watch(t *testing.T, p *peer, dev, filter string) func() int {
	t.Helper()
	_, err := exec.LookPath("tcpdump")
	need(t, err == nil, "tcpdump")
	file := filepath.Join(t.TempDir(), "peer.pcap")
	var said lines
	c := exec.Command("tcpdump", "-i", dev, "-U", "-w", file, "-Z", "root", "--immediate-mode", "-B", "8192", filter)
	c.Stderr = &said
	p.in(func() { require.NoError(t, c.Start()) })
	t.Cleanup(func() { _ = c.Process.Kill() })
	for end := time.Now().Add(10 * time.Second); !strings.Contains(said.String(), "listening on"); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "tcpdump: %s", &said)
	}
	return func() int {
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, c.Process.Signal(syscall.SIGINT))
		require.NoError(t, c.Wait(), "%s", &said)
		return len(frames(t, file))
	}
}

// frames are the bytes of all frames of a capture.
func frames(t *testing.T, file string) (all [][]byte) {
	t.Helper()
	r, err := capture.Open(file, capture.Options{})
	require.NoError(t, err)
	defer r.Close()
	for {
		var f packet.Frame
		err := r.Next(&f)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, bytes.Clone(f.Data))
	}
}

const eightWorkers = `
lcores: [LCORE]
ports: [{name: eth0, source: {dpdk: "DEVICE"}, vlans: any}]
workers: [{name: echo, count: 8, handler: echo RINGS}]
sockets: [{name: echo, proto: udp, bind: "[::]:7", workers: echo}]
`

func echoConfig(device, rings string) string {
	cpus := strconv.Itoa(lastCPU())
	return strings.NewReplacer("DEVICE", device, "LCORE", cpus, "RINGS", rings).Replace(eightWorkers)
}

// checkEcho compares what edemux counted with what the kernel and tcpdump did.
func checkEcho(t *testing.T, d *daemon, sent int) {
	t.Helper()
	d.until("everything is counted", func() bool { return d.snapshot().Totals.Verdicts.Deliver >= uint64(sent) })
	n := d.snapshot()
	require.EqualValues(t, sent, n.Totals.Verdicts.Deliver)
	require.Zero(t, n.Totals.Verdicts.Drop, "%v", n.Drops)
	require.EqualValues(t, sent, n.MIB["UdpInDatagrams"]+n.MIB["Udp6InDatagrams"])
	busy := 0
	for _, w := range n.Workers {
		if w.Packets > 0 {
			busy++
		}
	}
	require.Greater(t, busy, 4, "eight workers share the work: %+v", n.Workers)
	p := n.Ports[0]
	require.EqualValues(t, sent, p.Sent)
	require.Zero(t, p.Refused)
	require.Zero(t, p.Unsent)
	require.Equal(t, "up", p.Link)
}

func lastCPU() int {
	var s unix.CPUSet
	_ = unix.SchedGetaffinity(0, &s)
	last := 0
	for i := range 1024 {
		if s.IsSet(i) {
			last = i
		}
	}
	return last
}

// liveEcho has the kernel's sockets talk to eight workers of edemux over a device
// on a veth pair. extra tagged frames are sent where the device carries them.
func liveEcho(t *testing.T, device, rings string, mtu, size, extra int) {
	p := newPeer(t)
	veth(t, p, mtu)
	count := watch(t, p, "v1", "udp port 7 or (vlan and udp port 7)")
	d := run(t, echoConfig(device, rings))
	const sockets, each = 40, 5
	p.in(func() {
		before := snmp(t, "snmp", "Udp", "InDatagrams")
		echoes(t, ours4, sockets, each, size)
		require.Equal(t, sockets*each, snmp(t, "snmp", "Udp", "InDatagrams")-before, "as the kernel counts")
		require.Zero(t, snmp(t, "snmp", "Udp", "InErrors"))
		before = snmp(t, "snmp6", "", "Udp6InDatagrams")
		echoes(t, ours6, sockets, each, size)
		require.Equal(t, sockets*each, snmp(t, "snmp6", "", "Udp6InDatagrams")-before, "as the kernel counts")
		for range extra {
			tagged(t, "v1", 100)
		}
	})
	checkEcho(t, d, 2*sockets*each+extra)
	require.Equal(t, 2*(2*sockets*each+extra), count(), "each datagram and its echo, as tcpdump counts")
	d.end()
}

func TestRunAfPacket(t *testing.T) {
	if inNetns(t) {
		liveEcho(t, "net_af_packet0,iface=v0", "", 1500, 1000, 3)
	}
}

// TestRunAfPacketWorkers hands packets over to a worker thread, which sends.
func TestRunAfPacketWorkers(t *testing.T) {
	if inNetns(t) {
		liveEcho(t, "net_af_packet0,iface=v0", ", ring: 64, lcores: [0]", 1500, 100, 3)
	}
}

func TestRunAfPacketLargeFrames(t *testing.T) {
	if inNetns(t) {
		liveEcho(t, "net_af_packet0,iface=v0,framesz=16384,blocksz=16384,framecnt=256", "", 9000, 8000, 1)
	}
}

func TestRunAfXDP(t *testing.T) {
	if inNetns(t) {
		liveEcho(t, "net_af_xdp0,iface=v0,force_copy=1", "", 1500, 1000, 3)
	}
}

func TestRunTap(t *testing.T) {
	if !inNetns(t) {
		return
	}
	_, err := os.Stat("/dev/net/tun")
	need(t, err == nil, "/dev/net/tun")
	d := run(t, echoConfig("net_tap0,iface=tap0,mac="+ourMAC, ""))
	sh(t, "ip link set tap0 down", "ip link set tap0 address "+peerMAC)
	kernelSide(t, "tap0")
	echoes(t, ours4, 40, 5, 1000)
	echoes(t, ours6, 40, 5, 1000)
	tagged(t, "tap0", 7)
	checkEcho(t, d, 401)
	d.end()
}

// TestRunKilled: kill -9 leaves nothing that keeps the next one from starting.
func TestRunKilled(t *testing.T) {
	if !inNetns(t) {
		return
	}
	p := newPeer(t)
	veth(t, p, 1500)
	d := run(t, echoConfig("net_af_packet0,iface=v0", ""))
	p.in(func() { echoes(t, ours4, 8, 2, 10) })
	require.NoError(t, d.cmd.Process.Kill())
	_ = d.cmd.Wait()
	prefixes-- // the same prefix, folder and socket
	again := beginIn(t, d.dir, echoConfig("net_af_packet0,iface=v0", ""))
	again.Client = d.Client
	again.until("polls", func() bool { return strings.Contains(again.log.String(), "msg=polling") })
	p.in(func() { echoes(t, ours4, 8, 2, 10) })
	again.end()
}
