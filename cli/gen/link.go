package gen

import "edemux/dataplane/packet"

// linkKind indexes linkNames.
type linkKind uint8

const (
	linkEthernet linkKind = iota
	linkRaw
	linkSLL
	linkSLL2
	linkNull
)

var (
	linkNames = []string{"ethernet", "raw", "sll", "sll2", "null"}
	linkTypes = []uint16{packet.LinkEthernet, packet.LinkRaw, packet.LinkSLL, packet.LinkSLL2, packet.LinkNull}
)

const (
	ethernetLen = 14
	ethernetMin = 60 // what a NIC hands over of the shortest frame

	etherIPv4, etherIPv6 = 0x0800, 0x86dd
	etherTag, etherOuter = 0x8100, 0x88a8 // 802.1Q; outermost of a stack: 802.1ad
)

var (
	localMAC  = [6]byte{2, 0, 0, 0, 0, 1}
	remoteMAC = [6]byte{2, 0, 0, 0, 0, 2}
)

// appendLink appends the link layer in front of a datagram of flow s.
func (p *plan) appendLink(b []byte, s *segment) []byte {
	typ := uint16(etherIPv4)
	if s.v6 {
		typ = etherIPv6
	}
	tags := p.vlans[s.flow%uint64(len(p.vlans))]
	switch p.link {
	case linkEthernet:
		dst, src := localMAC, remoteMAC
		if s.out {
			dst, src = src, dst
		}
		if s.multicast {
			dst = multicastMAC(s)
		}
		b = append(b, dst[:]...)
		b = append(b, src[:]...)
	case linkSLL:
		b = be.AppendUint16(b, uint16(pktType(s)))
		b = append(b, 0, 1, 0, 6)
		b = append(b, sender(s)...)
		b = append(b, 0, 0)
	case linkSLL2:
		b = be.AppendUint16(b, outerType(tags, typ))
		b = append(b, 0, 0, 0, 0, 0, byte(2+s.flow%uint64(p.Interfaces)), 0, 1, byte(pktType(s)), 6)
		b = append(b, sender(s)...)
		b = append(b, 0, 0)
		return appendTags(b, tags, typ, false)
	case linkNull:
		family := byte(2)
		if s.v6 {
			family = 30 // of macOS; BSDs have 24 and 28, and readers know all three
		}
		return append(b, family, 0, 0, 0)
	case linkRaw:
		return b
	}
	return appendTags(b, tags, typ, true)
}

// outerType is the type of the first header behind the link layer.
func outerType(tags []uint16, typ uint16) uint16 {
	switch len(tags) {
	case 0:
		return typ
	case 1:
		return etherTag
	}
	return etherOuter
}

// appendTags appends the types and tags up to the IP header. SLL2 keeps the
// first type elsewhere.
func appendTags(b []byte, tags []uint16, typ uint16, first bool) []byte {
	if first {
		b = be.AppendUint16(b, outerType(tags, typ))
	}
	for i, t := range tags {
		b = be.AppendUint16(b, t)
		if i == len(tags)-1 {
			b = be.AppendUint16(b, typ)
		} else {
			b = be.AppendUint16(b, etherTag)
		}
	}
	return b
}

func sender(s *segment) []byte {
	if s.out {
		return localMAC[:]
	}
	return remoteMAC[:]
}

func pktType(s *segment) packet.PktType {
	switch {
	case s.out:
		return packet.Outgoing
	case s.multicast:
		return packet.Multicast
	}
	return packet.Host
}

func multicastMAC(s *segment) [6]byte {
	a := uint32(s.laddr.Lo)
	if s.v6 {
		return [6]byte{0x33, 0x33, byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a)}
	}
	return [6]byte{1, 0, 0x5e, byte(a>>16) & 0x7f, byte(a >> 8), byte(a)}
}
