package packet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

func quote4() *packettest.Builder { return packettest.New().IPv4(v4b, v4a) }
func quote6() *packettest.Builder { return packettest.New().IPv6(v6b, v6a) }

func TestEmbedded(t *testing.T) {
	for name, c := range map[string]struct {
		quoted []byte
		v6     bool
		ok     bool
		want   packet.Inner
	}{
		"udp":            {quote4().UDP(53, 1000).Bytes(), false, true, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"tcp":            {quote4().TCP(53, 1000, 0).Seq(7, 8).Bytes(), false, true, packet.Inner{Proto: 6, Sport: 53, Dport: 1000, HasPorts: true, Seq: 7, HasSeq: true}},
		"tcp, 8 bytes":   {quote4().TCP(53, 1000, 0).Seq(7, 8).Bytes()[:28], false, true, packet.Inner{Proto: 6, Sport: 53, Dport: 1000, HasPorts: true, Seq: 7, HasSeq: true}},
		"udp, 7 bytes":   {quote4().UDP(53, 1000).Bytes()[:27], false, false, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"udp, 3 bytes":   {quote4().UDP(53, 1000).Bytes()[:23], false, false, packet.Inner{Proto: 17}},
		"options":        {quote4().IPOptions(1, 1, 1, 1).UDP(53, 1000).Bytes(), false, true, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"icmp":           {quote4().ICMP(8, 0, 0).Bytes(), false, true, packet.Inner{Proto: 1}},
		"later fragment": {quote4().Fragment(8, false).UDP(53, 1000).Bytes(), false, true, packet.Inner{Proto: 17, Fragment: true}},
		"v6 udp":         {quote6().UDP(53, 1000).Bytes(), true, true, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"v6 headers":     {quote6().HopByHop().DstOpts().Routing(0, 0).UDP(53, 1000).Bytes(), true, true, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"v6 first":       {quote6().FragHdr(1).Fragment(0, true).UDP(53, 1000).Bytes(), true, true, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"v6 later":       {quote6().FragHdr(1).Fragment(16, true).UDP(53, 1000).Bytes(), true, true, packet.Inner{Proto: 17, Fragment: true}},
		"v6 7 bytes":     {quote6().UDP(53, 1000).Bytes()[:47], true, false, packet.Inner{Proto: 17, Sport: 53, Dport: 1000, HasPorts: true}},
		"v6 cut headers": {quote6().HopByHop().UDP(53, 1000).Bytes()[:44], true, false, packet.Inner{Proto: 0}},
	} {
		b, typ := ip4(), uint8(3)
		c.want.IPVer = 4
		if c.v6 {
			b, typ, c.want.IPVer = ip6(), 1, 6
		}
		f := b.ICMP(typ, 3, 0).Payload(c.quoted).Frame()
		m := parse(f)
		e, ok := packet.Embedded(f.Data, &m)
		assert.Equal(t, c.ok, ok, name)
		if c.v6 {
			assert.Equal(t, v6b, e.Saddr.Netip(), name)
			assert.Equal(t, v6a, e.Daddr.Netip(), name)
		} else {
			assert.Equal(t, v4b, e.Saddr.Netip(), name)
			assert.Equal(t, v4a, e.Daddr.Netip(), name)
		}
		c.want.Saddr, c.want.Daddr = e.Saddr, e.Daddr
		assert.Equal(t, c.want, e, name)
	}
}

func TestEmbeddedUnusable(t *testing.T) {
	for name, q := range map[string][]byte{
		"empty": nil, "19 bytes": quote4().UDP(1, 2).Bytes()[:19],
		"ihl":     quote4().Set(0, 0x44).UDP(1, 2).Bytes(),
		"version": quote4().Set(0, 0x65).UDP(1, 2).Bytes(),
	} {
		f := ip4().ICMP(3, 3, 0).Payload(q).Frame()
		m := parse(f)
		e, ok := packet.Embedded(f.Data, &m)
		assert.False(t, ok, name)
		assert.Zero(t, e, name)
	}
	f := ip4().ICMP(8, 0, 0).Payload(quote4().UDP(1, 2).Bytes()).Frame()
	m := parse(f)
	_, ok := packet.Embedded(f.Data, &m)
	assert.False(t, ok, "an echo request quotes nothing")
}

// TestEmbeddedSnapped: the wire held enough; the capture must hold the ports,
// and of TCP the sequence number.
func TestEmbeddedSnapped(t *testing.T) {
	b := ip4().ICMP(3, 3, 0).Payload(quote4().UDP(53, 1000).PayloadLen(20).Bytes())
	for n := 42; n < 100; n++ {
		f := b.Snap(n)
		m := parse(f)
		e, ok := packet.Embedded(f.Data, &m)
		assert.Equal(t, n >= 14+20+8+20+4, ok, "%d bytes", n)
		assert.Equal(t, ok, e.HasPorts)
	}
}
