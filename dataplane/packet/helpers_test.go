package packet_test

import (
	"net/netip"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

var (
	v4a = netip.MustParseAddr("10.0.0.1")
	v4b = netip.MustParseAddr("10.0.0.2")
	v6a = netip.MustParseAddr("2001:db8::1")
	v6b = netip.MustParseAddr("2001:db8::2")

	verify = packet.Options{VerifyIP: true, VerifyL4: true}
)

func eth() *packettest.Builder { return packettest.New().Eth(packettest.MAC1, packettest.MAC2) }
func ip4() *packettest.Builder { return eth().IPv4(v4a, v4b) }
func ip6() *packettest.Builder { return eth().IPv6(v6a, v6b) }

func parse(f packet.Frame) (m packet.Meta) {
	packet.Parse(&f, &verify, &m)
	return m
}

// tuple names what a Meta says of the flow.
type tuple struct {
	src, dst     string
	sport, dport uint16
	proto        uint8
}

func tupleOf(m *packet.Meta) (t tuple) {
	if m.Has(packet.HasTuple) {
		t.src, t.dst = m.Saddr.String(), m.Daddr.String()
	}
	if m.Has(packet.HasProto) {
		t.proto = m.Proto
	}
	if m.Has(packet.HasPorts) {
		t.sport, t.dport = m.Sport, m.Dport
	}
	return t
}
