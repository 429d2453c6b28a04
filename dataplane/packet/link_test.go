package packet_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

func udp4(b *packettest.Builder) packet.Frame {
	return b.IPv4(v4a, v4b).UDP(1000, 53).PayloadLen(4).Frame()
}

func udp6(b *packettest.Builder) packet.Frame {
	return b.IPv6(v6a, v6b).UDP(1000, 53).PayloadLen(4).Frame()
}

// TestLinkTypes: every link type brings both families to the same tuple, with
// the packet type that it can tell.
func TestLinkTypes(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	n := packettest.New
	m1 := packettest.MAC1
	for name, c := range map[string]struct {
		f    packet.Frame
		want packet.PktType
		loop bool
	}{
		"ethernet":         {udp4(eth()), packet.Host, false},
		"ethernet v6":      {udp6(eth()), packet.Host, false},
		"broadcast":        {udp4(n().Eth(m1, packettest.Broadcast)), packet.Broadcast, false},
		"multicast":        {udp4(n().Eth(m1, packettest.MAC{1, 0, 0x5e, 0, 0, 1})), packet.Multicast, false},
		"multicast v6":     {udp6(n().Eth(m1, packettest.MAC{0x33, 0x33, 0, 0, 0, 1})), packet.Multicast, false},
		"almost broadcast": {udp4(n().Eth(m1, packettest.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xfd})), packet.Multicast, false},
		"lo":               {udp4(n().Eth(packettest.MAC{}, packettest.MAC{})), packet.Host, true},
		"sll host":         {udp4(n().SLL(packet.Host, 1, m1)), packet.Host, false},
		"sll broadcast":    {udp4(n().SLL(packet.Broadcast, 1, m1)), packet.Broadcast, false},
		"sll multicast":    {udp6(n().SLL(packet.Multicast, 1, m1)), packet.Multicast, false},
		"sll otherhost":    {udp4(n().SLL(packet.OtherHost, 1, m1)), packet.OtherHost, false},
		"sll outgoing":     {udp4(n().SLL(packet.Outgoing, 1, m1)), packet.Outgoing, false},
		"sll lo":           {udp4(n().SLL(packet.Host, 772, m1)), packet.Host, true},
		"sll2 host":        {udp4(n().SLL2(packet.Host, 1, 3, m1)), packet.Host, false},
		"sll2 outgoing v6": {udp6(n().SLL2(packet.Outgoing, 1, 3, m1)), packet.Outgoing, false},
		"sll2 lo":          {udp4(n().SLL2(packet.Host, 772, 1, m1)), packet.Host, true},
		"null le":          {udp4(n().Null(2, le)), packet.Host, true},
		"null be":          {udp4(n().Null(2, be)), packet.Host, true},
		"null netbsd":      {udp6(n().Null(24, le)), packet.Host, true},
		"null freebsd":     {udp6(n().Null(28, be)), packet.Host, true},
		"null darwin":      {udp6(n().Null(30, le)), packet.Host, true},
		"null linux":       {udp6(n().Null(10, le)), packet.Host, true},
		"null windows":     {udp6(n().Null(23, le)), packet.Host, true},
		"loop":             {udp4(n().Loop(2)), packet.Host, true},
		"loop v6":          {udp6(n().Loop(24)), packet.Host, true},
		"raw":              {udp4(n()), packet.Host, false},
		"raw v6":           {udp6(n()), packet.Host, false},
		"raw 12":           {udp4(n().Link(12)), packet.Host, false},
		"raw 14":           {udp6(n().Link(14)), packet.Host, false},
		"ipv4":             {udp4(n().Link(packet.LinkIPv4)), packet.Host, false},
		"ipv6":             {udp6(n().Link(packet.LinkIPv6)), packet.Host, false},
	} {
		m := parse(c.f)
		want := tuple{"10.0.0.1", "10.0.0.2", 1000, 53, 17}
		if m.IPVer == 6 {
			want.src, want.dst = v6a.String(), v6b.String()
		}
		assert.Equal(t, want, tupleOf(&m), name)
		assert.Equal(t, mib.NotDropped, m.Reason, name)
		assert.Equal(t, mib.NotDropped, m.L4Reason, name)
		assert.Equal(t, c.want, m.PktType, name)
		assert.Equal(t, c.loop, m.Has(packet.Loopback), name)
		assert.False(t, m.Has(packet.L4CsumBad), name)
		assert.EqualValues(t, 4, m.PayloadLen, name)
	}
}

// TestPktTypeFromCapture: pcapng's reception type wins over the MAC, but what
// SLL calls outgoing stays outgoing.
func TestPktTypeFromCapture(t *testing.T) {
	f := udp4(eth())
	f.HasPktType, f.PktType = true, packet.Multicast
	m := parse(f)
	assert.Equal(t, packet.Multicast, m.PktType)
	f = udp4(packettest.New().SLL(packet.Outgoing, 1, packettest.MAC1))
	f.HasPktType, f.PktType = true, packet.Host
	m = parse(f)
	assert.Equal(t, packet.Outgoing, m.PktType)
}

func TestPunts(t *testing.T) {
	n := packettest.New
	m1 := packettest.MAC1
	raw := func(link uint16) packet.Frame { return n().Payload(make([]byte, 64)).Link(link).Frame() }
	for name, c := range map[string]struct {
		f    packet.Frame
		want mib.PuntWord
	}{
		"arp":           {eth().EtherType(packet.EtherARP).PayloadLen(28).Frame(), mib.ARP},
		"mpls":          {eth().EtherType(packet.EtherMPLS).PayloadLen(28).Frame(), mib.MPLS},
		"mpls mc":       {eth().EtherType(packet.EtherMPLSMC).PayloadLen(28).Frame(), mib.MPLS},
		"pppoe":         {eth().EtherType(packet.EtherPPPoES).PayloadLen(28).Frame(), mib.PPPoE},
		"pppoe d":       {eth().EtherType(packet.EtherPPPoED).PayloadLen(28).Frame(), mib.PPPoE},
		"802.3":         {eth().EtherType(46).PayloadLen(46).Frame(), mib.LLC},
		"802.3 limit":   {eth().EtherType(0x05ff).PayloadLen(46).Frame(), mib.LLC},
		"type 0x600":    {eth().EtherType(0x0600).PayloadLen(46).Frame(), mib.NonIP},
		"lldp":          {eth().EtherType(0x88cc).PayloadLen(46).Frame(), mib.NonIP},
		"vlan arp":      {eth().VLAN(5).EtherType(packet.EtherARP).PayloadLen(28).Frame(), mib.ARP},
		"vlan llc":      {eth().VLAN(5).EtherType(10).PayloadLen(28).Frame(), mib.LLC},
		"sll arp":       {n().SLL(packet.Host, 1, m1).EtherType(packet.EtherARP).PayloadLen(28).Frame(), mib.ARP},
		"sll llc":       {n().SLL(packet.Host, 1, m1).EtherType(4).PayloadLen(28).Frame(), mib.LLC},
		"sll netlink":   {n().SLL(packet.Host, 824, m1).EtherType(packet.EtherIPv4).PayloadLen(28).Frame(), mib.NonIP},
		"sll2 radiotap": {n().SLL2(packet.Host, 803, 1, m1).EtherType(packet.EtherIPv4).PayloadLen(28).Frame(), mib.NonIP},
		"null other":    {n().Null(7, binary.LittleEndian).PayloadLen(28).Frame(), mib.NonIP},
		"link type 105": {raw(105), mib.LinkType},
		"link type 9":   {raw(9), mib.LinkType},
	} {
		m := parse(c.f)
		assert.Equal(t, c.want, m.Punt, name)
		assert.Equal(t, mib.NotDropped, m.Reason, name)
		assert.True(t, m.Has(packet.NonIPFrame), name)
		assert.False(t, m.Has(packet.HasSaddr), name)
		assert.Zero(t, m.IPVer, name)
	}
}

func TestVLANs(t *testing.T) {
	stack := func(f packet.Frame) []uint16 { return packet.VLANStack(&f, nil) }
	b := eth().Tag(packet.EtherQinQ, 0x2064).VLAN(10)
	f := udp4(b)
	m := parse(f)
	assert.Equal(t, []uint16{100, 10}, stack(f))
	assert.EqualValues(t, 2, m.NVLAN)
	assert.EqualValues(t, 10<<16|100, m.VLANs, "priority bits are no part of the VID")
	assert.EqualValues(t, 53, m.Dport)

	f.VLANStripped, f.TCI = true, 0xe007
	m = parse(f)
	assert.Equal(t, []uint16{7, 100, 10}, stack(f))
	assert.EqualValues(t, 3, m.NVLAN)
	assert.EqualValues(t, 10<<32|100<<16|7, m.VLANs)

	f = udp4(eth().VLAN(0).Tag(packet.EtherQinQ1, 3))
	m = parse(f)
	assert.Equal(t, []uint16{0, 3}, stack(f), "VID 0 and 0x9100 count")
	assert.EqualValues(t, 2, m.NVLAN)

	b = eth()
	for i := range 300 {
		b.VLAN(uint16(i))
	}
	f = udp4(b)
	m = parse(f)
	assert.Len(t, stack(f), 300)
	assert.EqualValues(t, 255, m.NVLAN, "saturates")
	assert.EqualValues(t, 3<<48|2<<32|1<<16, m.VLANs)
	assert.EqualValues(t, 53, m.Dport)

	f = udp4(packettest.New().SLL(packet.Host, 1, packettest.MAC1).VLAN(9))
	m = parse(f)
	assert.Equal(t, []uint16{9}, stack(f), "tags stand behind SLL too")
	assert.EqualValues(t, 53, m.Dport)

	f = eth().VLAN(4).VLAN(5).Snap(16)
	m = parse(f)
	assert.Equal(t, mib.PktTooSmall, m.Reason, "cut inside a tag")
	f = packet.Frame{Data: []byte{1, 2, 3}, WireLen: 64, VLANStripped: true, TCI: 12}
	f.Link = packet.LinkEthernet
	m = parse(f)
	assert.Equal(t, mib.PktTooSmall, m.Reason, "cut inside the header")
	assert.Equal(t, []uint16{12}, stack(f))
	assert.EqualValues(t, 1, m.NVLAN)
}

func TestShortLinkHeaders(t *testing.T) {
	for link, n := range map[uint16]int{
		packet.LinkEthernet: 14, packet.LinkSLL: 16, packet.LinkSLL2: 20, packet.LinkNull: 4, packet.LinkLoop: 4,
	} {
		for i := range n {
			m := parse(packet.Frame{Data: make([]byte, i), WireLen: uint32(i), Link: link})
			assert.Equal(t, mib.PktTooSmall, m.Reason, "link %d, %d bytes", link, i)
		}
	}
	m := parse(packet.Frame{Link: packet.LinkRaw})
	assert.Equal(t, mib.IPInHdr, m.Reason)
	m = parse(packet.Frame{Data: []byte{0x50, 0}, WireLen: 2, Link: packet.LinkRaw})
	assert.Equal(t, mib.IPInHdr, m.Reason)
}

func TestMACs(t *testing.T) {
	f := udp4(eth())
	src, ok := packet.SrcMAC(&f)
	assert.True(t, ok)
	assert.EqualValues(t, 0x020000000001, src)
	dst, ok := packet.DstMAC(&f)
	assert.True(t, ok)
	assert.EqualValues(t, 0x020000000002, dst)
	f = udp4(packettest.New().SLL(packet.Host, 1, packettest.MAC2))
	src, ok = packet.SrcMAC(&f)
	assert.True(t, ok)
	assert.EqualValues(t, 0x020000000002, src)
	_, ok = packet.DstMAC(&f)
	assert.False(t, ok)
	f = udp4(packettest.New().SLL2(packet.Host, 1, 1, packettest.MAC2))
	src, ok = packet.SrcMAC(&f)
	assert.True(t, ok)
	assert.EqualValues(t, 0x020000000002, src)
	f = udp4(packettest.New())
	_, ok = packet.SrcMAC(&f)
	assert.False(t, ok)
}
