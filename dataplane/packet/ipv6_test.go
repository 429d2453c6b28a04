package packet_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// TestIPv6Reasons breaks one field after the other, in the order of
// ip6_rcv_core.
func TestIPv6Reasons(t *testing.T) {
	a := netip.MustParseAddr
	udp := func(b *packettest.Builder) packet.Frame { return b.UDP(1000, 53).PayloadLen(40).Frame() }
	lo := func() *packettest.Builder { return packettest.New().SLL(packet.Host, 772, packettest.MAC{}) }
	for name, c := range map[string]struct {
		f    packet.Frame
		want mib.Reason
	}{
		"sound":                   {udp(ip6()), mib.NotDropped},
		"version 4":               {udp(ip6().Set(0, 0x40)), mib.UnhandledProto},
		"loopback source":         {udp(eth().IPv6(a("::1"), v6b)), mib.IPInHdr},
		"loopback destination":    {udp(eth().IPv6(v6a, a("::1"))), mib.IPInHdr},
		"loopback on lo":          {udp(lo().IPv6(a("::1"), a("::1"))), mib.NotDropped},
		"interface-local":         {udp(eth().IPv6(v6a, a("ff01::1"))), mib.IPInHdr},
		"interface-local on lo":   {udp(lo().IPv6(v6a, a("ff01::1"))), mib.NotDropped},
		"multicast scope 0":       {udp(eth().IPv6(v6a, a("ff00::1"))), mib.IPInHdr},
		"multicast scope 0 on lo": {udp(lo().IPv6(v6a, a("ff00::1"))), mib.IPInHdr},
		"link-local multicast":    {udp(eth().IPv6(v6a, a("ff02::1"))), mib.NotDropped},
		"multicast source":        {udp(eth().IPv6(a("ff02::1"), v6b)), mib.IPInHdr},
		"length beyond wire":      {udp(ip6().Set16(4, 49)), mib.PktTooSmall},
		"length short":            {udp(ip6().Set16(4, 48)), mib.NotDropped},
		"cut header":              {ip6().UDP(1, 2).Snap(14 + 39), mib.PktTooSmall},
	} {
		m := parse(c.f)
		assert.Equal(t, c.want, m.Reason, name)
		assert.EqualValues(t, 6, m.IPVer, name)
		if c.want == mib.IPInHdr || c.want == mib.NotDropped {
			assert.True(t, m.Has(packet.HasTuple|packet.HasPorts), name)
		}
	}
	for n := range 40 {
		f := ip6().Snap(14 + n)
		f.WireLen = uint32(14 + n)
		m := parse(f)
		assert.Equal(t, mib.IPInHdr, m.Reason, "%d bytes on the wire", n)
		assert.Equal(t, n >= 24, m.Has(packet.HasSaddr))
	}
}

// TestIPv6ExtHeaders: what is walked, what is judged before routing (Reason)
// and what after (L4Reason).
func TestIPv6ExtHeaders(t *testing.T) {
	ok, bad := mib.NotDropped, mib.IPv6BadExthdr
	pad := func(b *packettest.Builder) *packettest.Builder { return b.HopByHop() }
	mc := eth().IPv6(v6a, netip.MustParseAddr("ff02::1"))
	for name, c := range map[string]struct {
		b      *packettest.Builder
		reason mib.Reason
		l4     mib.Reason
	}{
		"hop-by-hop":              {pad(ip6()), ok, ok},
		"all":                     {ip6().HopByHop().DstOpts().Routing(0, 0).FragHdr(5).DstOpts(), ok, ok},
		"router alert":            {ip6().HopByHop(5, 2, 0, 0), ok, ok},
		"router alert length":     {ip6().HopByHop(5, 3, 0, 0, 0), bad, ok},
		"unknown, skip":           {ip6().HopByHop(0x1e, 2, 0, 0), ok, ok},
		"unknown, discard":        {ip6().HopByHop(0x5e, 2, 0, 0), bad, ok},
		"unknown, problem":        {ip6().HopByHop(0x9e, 2, 0, 0), bad, ok},
		"unknown, problem mc":     {ip6().HopByHop(0xde, 2, 0, 0), bad, ok},
		"dst unknown, discard":    {ip6().DstOpts(0x5e, 2, 0, 0), ok, bad},
		"home address":            {ip6().DstOpts(append([]byte{0xc9, 16}, make([]byte, 16)...)...), ok, bad},
		"option past the end":     {ip6().HopByHop(0x1e, 9, 0, 0), bad, ok},
		"option without length":   {ip6().HopByHop(1, 3, 0, 0, 0, 0x1e), bad, ok},
		"pad 7":                   {ip6().HopByHop(0, 0, 0, 0, 0, 0), ok, ok},
		"pad 8":                   {ip6().HopByHop(1, 6, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0), bad, ok},
		"padN not zero":           {ip6().HopByHop(1, 4, 0, 0, 1, 0), bad, ok},
		"pad sums up":             {ip6().HopByHop(1, 2, 0, 0, 1, 2, 0, 0, 5, 2, 0, 0), bad, ok},
		"eight options":           {ip6().HopByHop(alerts(8)...), ok, ok},
		"nine options":            {ip6().HopByHop(alerts(9)...), bad, ok},
		"routing 0, none left":    {ip6().Routing(0, 0), ok, ok},
		"routing 0, one left":     {ip6().Routing(0, 1, v6a), ok, bad},
		"routing 2":               {ip6().Routing(2, 0, v6a), ok, bad},
		"segment routing":         {ip6().Routing(4, 0, v6a), ok, bad},
		"routing to multicast":    {mc.Clone().Routing(0, 0), ok, bad},
		"hop-by-hop second":       {ip6().DstOpts().HopByHop(), ok, mib.IPNoProto},
		"two fragment headers":    {ip6().FragHdr(1).FragHdr(2), ok, bad},
		"header past the end":     {ip6().Ext(packet.ProtoDstOpts).Set(1, 200), ok, bad},
		"hop-by-hop past the end": {ip6().Ext(packet.ProtoHopOpts).Set(1, 200), bad, ok},
		"twelve headers":          {many(12), ok, ok},
		"thirteen headers":        {many(13), ok, bad},
	} {
		m := parse(c.b.UDP(1000, 53).PayloadLen(4).Frame())
		assert.Equal(t, c.reason, m.Reason, name)
		assert.Equal(t, c.l4, m.L4Reason, name)
		assert.True(t, m.Has(packet.HasTuple|packet.Exthdr), name)
		if m.Has(packet.HasProto) {
			assert.EqualValues(t, 17, m.Proto, name)
			assert.EqualValues(t, 53, m.Dport, name)
		} else {
			assert.Contains(t, name, "past the end")
		}
	}
}

func alerts(n int) (o []byte) {
	for range n {
		o = append(o, 5, 2, 0, 0)
	}
	return o
}

func many(n int) *packettest.Builder {
	b := ip6()
	for range n {
		b.DstOpts()
	}
	return b
}

func TestIPv6FinalHeaders(t *testing.T) {
	for _, p := range []uint8{packet.ProtoAH, packet.ProtoESP, packet.ProtoMobility, packet.ProtoNoNext, 139, 253} {
		m := parse(ip6().DstOpts().Proto(p).PayloadLen(40).Frame())
		assert.EqualValues(t, p, m.Proto)
		assert.EqualValues(t, packet.ProtoDstOpts, m.NextHdr)
		assert.True(t, m.Has(packet.HasProto))
		assert.False(t, m.Has(packet.HasPorts))
		assert.Equal(t, mib.NotDropped, m.L4Reason)
	}
}

func TestIPv6Fragments(t *testing.T) {
	m := parse(ip6().FragHdr(9).UDP(1, 2).PayloadLen(8).Frame())
	assert.True(t, m.Has(packet.FragHdr|packet.HasPorts), "atomic")
	assert.False(t, m.Has(packet.Fragment))
	assert.EqualValues(t, 9, m.FragID)
	assert.False(t, m.Has(packet.L4CsumBad))

	fs := ip6().HopByHop().UDP(1, 2).PayloadLen(64).Fragments(40, 77)
	assert.Len(t, fs, 2)
	m = parse(fs[0])
	assert.True(t, m.Has(packet.FragHdr|packet.Fragment|packet.HasPorts))
	assert.True(t, m.MoreFrags)
	assert.EqualValues(t, 14+40+8, m.FragAt)
	assert.Equal(t, mib.NotDropped, m.L4Reason)
	m = parse(fs[1])
	assert.True(t, m.Has(packet.FragHdr|packet.Fragment|packet.HasProto))
	assert.False(t, m.Has(packet.HasPorts))
	assert.EqualValues(t, 40, m.FragOff)
	assert.EqualValues(t, 17, m.Proto)
	assert.EqualValues(t, 77, m.FragID)
	assert.EqualValues(t, 14+40+8+8, m.L4)

	m = parse(ip6().FragHdr(9).Fragment(8, false).Proto(packet.ProtoDstOpts).PayloadLen(8).Frame())
	assert.EqualValues(t, packet.ProtoDstOpts, m.Proto, "bytes of a later fragment are not headers")
	m = parse(ip6().FragHdr(9).Fragment(0, true).DstOpts(0x5e, 2, 0, 0).UDP(1, 2).PayloadLen(8).Frame())
	assert.Equal(t, mib.NotDropped, m.L4Reason, "headers behind it wait for the datagram")
	m = parse(ip6().Set16(4, 0).FragHdr(9).Fragment(0, true).UDP(1, 2).PayloadLen(8).Frame())
	assert.Equal(t, mib.IPv6BadExthdr, m.L4Reason, "no payload length")
}

func TestIPv6Jumbo(t *testing.T) {
	jumbo := func(n uint32) *packettest.Builder {
		return ip6().Set16(4, 0).HopByHop(0xc2, 4, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	m := parse(jumbo(70028).TCP(1, 2, packet.ACK).PayloadLen(70000).Frame())
	assert.Equal(t, mib.NotDropped, m.Reason)
	assert.EqualValues(t, 70000, m.PayloadLen)
	m = parse(jumbo(70027).TCP(1, 2, packet.ACK).PayloadLen(70000).Frame())
	assert.Equal(t, mib.NotDropped, m.Reason)
	assert.EqualValues(t, 69999, m.PayloadLen, "trimmed to the option")
	m = parse(jumbo(70029).TCP(1, 2, packet.ACK).PayloadLen(70000).Frame())
	assert.Equal(t, mib.PktTooSmall, m.Reason)
	m = parse(jumbo(100).TCP(1, 2, packet.ACK).PayloadLen(70000).Frame())
	assert.Equal(t, mib.IPv6BadExthdr, m.Reason, "not longer than the field could say")
	m = parse(ip6().HopByHop(0xc2, 4, 0, 1, 0x11, 0x8c).TCP(1, 2, packet.ACK).PayloadLen(100).Frame())
	assert.Equal(t, mib.IPv6BadExthdr, m.Reason, "beside a payload length")
	m = parse(ip6().Set16(4, 0).TCP(1, 2, packet.ACK).PayloadLen(70000).Frame())
	assert.Equal(t, mib.NotDropped, m.Reason, "BIG TCP without the option")
	assert.EqualValues(t, 70000, m.PayloadLen)
	m = parse(ip6().Set16(4, 0).TCP(1, 2, packet.ACK).PayloadLen(100).Frame())
	assert.Equal(t, mib.PktTooSmall, m.L4Reason, "an empty datagram")
}

// TestIPv6Snapped: a cut is never an error of the header.
func TestIPv6Snapped(t *testing.T) {
	b := ip6().HopByHop().DstOpts().TCP(1000, 53, packet.SYN).PayloadLen(10)
	whole := len(b.Bytes())
	for n := 14; n < whole; n++ {
		m := parse(b.Snap(n))
		switch {
		case n < 14+40:
			assert.Equal(t, mib.PktTooSmall, m.Reason, "%d", n)
		case n < 14+40+16+14:
			assert.Equal(t, mib.NotDropped, m.Reason, "%d", n)
			assert.Equal(t, mib.PktTooSmall, m.L4Reason, "%d", n)
		default:
			assert.Equal(t, mib.NotDropped, m.Reason, "%d", n)
			assert.Equal(t, mib.NotDropped, m.L4Reason, "%d", n)
			assert.EqualValues(t, packet.SYN, m.TCPFlags)
		}
		assert.True(t, m.Has(packet.L4Cut), "%d", n)
	}
}
