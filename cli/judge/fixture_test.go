package judge

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"testing"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/demux"

	"github.com/stretchr/testify/require"
)

// needRoot skips a test that cannot make namespaces, or fails it where nothing
// may be left out.
func needRoot(t testing.TB) {
	t.Helper()
	err := OnThread(func() error { _, err := newNamespace(); return err })
	if err == nil {
		return
	}
	if os.Getenv("EDEMUX_STRICT") == "1" || !errors.Is(err, ErrNotRoot) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// Addresses of the trials. Locals are spread over the two ports' networks.
var (
	local4  = addrs("10.0.0.1", "10.0.0.2", "10.1.0.1")
	local6  = addrs("2001:db8::1", "2001:db8::2", "2001:db8:1::1")
	remote4 = addrs("10.0.0.9", "10.1.0.9", "192.0.2.7")
	remote6 = addrs("2001:db8::9", "2001:db8:1::9", "2001:db8:ffff::7")
	bcast4  = netip.MustParseAddr("10.0.0.255")
)

func addrs(s ...string) (all []netip.Addr) {
	for _, a := range s {
		all = append(all, netip.MustParseAddr(a))
	}
	return all
}

func ap(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }

// twoPorts is a host with two interfaces in VRF default.
func twoPorts() Net {
	v := VRF{Name: "default", Broadcast: []netip.Addr{bcast4}, Sysctl: demux.DefaultSysctl()}
	v.Routes = []Route{{netip.MustParsePrefix("198.51.100.0/24"), "eth1"}}
	for _, a := range append(append([]netip.Addr{}, local4...), local6...) {
		v.Local = append(v.Local, netip.PrefixFrom(a, a.BitLen()))
	}
	return Net{Ports: []string{"eth0", "eth1"}, MACs: []uint64{0x02ed00000001, 0x02ed00000002}, VRFs: []VRF{v}}
}

// macOf is the destination MAC of frames for port i.
func macOf(n *Net, i int) packettest.MAC { return packettest.MAC(portMAC(n, i)) }

// udp4 and the others below make sockets as Linux's defaults have them.
func sock(name string, proto uint8, bind string) *Socket {
	s := &Socket{Name: name, Proto: proto, Family: 4, IncomingCPU: -1}
	if bind != "" {
		s.Bind = ap(bind)
		if !s.Bind.Addr().Is4() {
			s.Family = 6
		}
	}
	if proto == demux.TCP {
		s.Listen, s.Backlog = true, 128
	}
	return s
}

func udp(name, bind string) *Socket { return sock(name, demux.UDP, bind) }
func tcp(name, bind string) *Socket { return sock(name, demux.TCP, bind) }

// with changes a socket in place and returns it.
func (s *Socket) with(f func(*Socket)) *Socket { f(s); return s }

func reuseport(s *Socket) { s.Reuseport = true }
func reuseaddr(s *Socket) { s.Reuseaddr = true }
func v6only(s *Socket)    { s.V6Only = true }

// ip begins a frame from src to dst on port i.
func ip(n *Net, i int, src, dst netip.Addr) *packettest.Builder {
	mac := macOf(n, i)
	switch {
	case dst.Is4() && dst.IsMulticast():
		a := dst.As4()
		mac = packettest.MAC{1, 0, 0x5e, a[1] & 0x7f, a[2], a[3]}
	case dst.IsMulticast():
		a := dst.As16()
		mac = packettest.MAC{0x33, 0x33, a[12], a[13], a[14], a[15]}
	case dst == bcast4 || dst == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		mac = packettest.Broadcast
	}
	b := packettest.New().Eth(packettest.MAC2, mac)
	if src.Is4() {
		return b.IPv4(src, dst)
	}
	return b.IPv6(src, dst)
}

// datagram is a UDP frame with a payload of 32-bit words.
func datagram(n *Net, i int, src, dst netip.AddrPort, words ...uint32) *packettest.Builder {
	var p []byte
	for _, w := range words {
		p = append(p, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	return ip(n, i, src.Addr(), dst.Addr()).UDP(src.Port(), dst.Port()).Payload(p)
}

// segment is a TCP frame.
func segment(n *Net, i int, src, dst netip.AddrPort, flags uint8, seq, ack uint32, payload ...byte) *packettest.Builder {
	return ip(n, i, src.Addr(), dst.Addr()).TCP(src.Port(), dst.Port(), flags).Seq(seq, ack).Payload(payload)
}

// send is a step that sends a frame.
func send(port, cpu int, b *packettest.Builder, note string, args ...any) Step {
	return Step{Frame: &Frame{Port: port, CPU: cpu, Link: packet.LinkEthernet, Data: b.Bytes(), Note: fmt.Sprintf(note, args...)}}
}

func open(s *Socket) Step { return Step{Open: s} }

// agree runs a scenario and fails the test at the first disagreement.
func agree(t *testing.T, s *Scenario) {
	t.Helper()
	d, err := Run(s)
	require.NoError(t, err, s.Name)
	if d != nil {
		t.Errorf("%s: step %d: %s:\n%s", s.Name, d.Step, s.Steps[d.Step].String(), d.Text)
	}
}
