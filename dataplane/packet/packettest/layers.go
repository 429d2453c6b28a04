package packettest

import (
	"encoding/binary"
	"net/netip"

	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// pseudo sums the pseudo header of a transport part of n bytes.
func pseudo(ip *layer, proto uint8, n int) uint64 {
	return packet.PseudoSum(flowtable.AddrFrom(ip.src), flowtable.AddrFrom(ip.dst), proto, uint32(n))
}

// Eth adds an Ethernet header. Its EtherType is that of the next layer.
func (b *Builder) Eth(src, dst MAC) *Builder {
	b.link = packet.LinkEthernet
	h := append(append(dst[:0:0], dst[:]...), src[:]...)
	return b.add(layer{kind: kLink, typeAt: 12, sum: -1, head: append(h, 0, 0)})
}

// EtherType sets the type field of the last link or tag layer, when what
// follows is no layer of this package.
func (b *Builder) EtherType(t uint16) *Builder {
	l := b.last()
	if l.kind == kTag {
		return b.Set16(2, t)
	}
	return b.Set16(l.typeAt, t)
}

// VLAN adds an 802.1Q tag.
func (b *Builder) VLAN(vid uint16) *Builder { return b.Tag(packet.EtherVLAN, vid) }

// Tag adds a tag announced by the EtherType tpid.
func (b *Builder) Tag(tpid, tci uint16) *Builder {
	return b.add(layer{kind: kTag, typeAt: int(tpid), sum: -1, head: []byte{byte(tci >> 8), byte(tci), 0, 0}})
}

// SLL adds a Linux cooked header (LINKTYPE_LINUX_SLL). addr is the sender's
// link-layer address; arphrd is 1 for Ethernet, 772 for loopback.
func (b *Builder) SLL(t packet.PktType, arphrd uint16, addr MAC) *Builder {
	b.link = packet.LinkSLL
	h := make([]byte, 16)
	binary.BigEndian.PutUint16(h, uint16(t))
	binary.BigEndian.PutUint16(h[2:], arphrd)
	binary.BigEndian.PutUint16(h[4:], uint16(len(addr)))
	copy(h[6:], addr[:])
	return b.add(layer{kind: kLink, typeAt: 14, sum: -1, head: h})
}

// SLL2 is SLL in version 2, which also names the interface.
func (b *Builder) SLL2(t packet.PktType, arphrd uint16, ifindex uint32, addr MAC) *Builder {
	b.link = packet.LinkSLL2
	h := make([]byte, 20)
	binary.BigEndian.PutUint32(h[4:], ifindex)
	binary.BigEndian.PutUint16(h[8:], arphrd)
	h[10], h[11] = byte(t), byte(len(addr))
	copy(h[12:], addr[:])
	return b.add(layer{kind: kLink, typeAt: 0, sum: -1, head: h})
}

// Null adds the address family of BSD loopback in the given byte order.
func (b *Builder) Null(af uint32, order binary.ByteOrder) *Builder {
	b.link = packet.LinkNull
	h := make([]byte, 4)
	order.PutUint32(h, af)
	return b.add(layer{kind: kLink, typeAt: -1, sum: -1, head: h})
}

// Loop is Null for LINKTYPE_LOOP, whose order is the network's.
func (b *Builder) Loop(af uint32) *Builder {
	b.Null(af, binary.BigEndian)
	b.link = packet.LinkLoop
	return b
}

// IPv4 adds an IPv4 header: TTL 64, no options, not a fragment.
func (b *Builder) IPv4(src, dst netip.Addr) *Builder {
	b.id++
	h := make([]byte, 20)
	h[0], h[8] = 0x45, 64
	binary.BigEndian.PutUint16(h[4:], b.id)
	s, d := src.As4(), dst.As4()
	copy(h[12:], s[:])
	copy(h[16:], d[:])
	return b.add(layer{kind: kIPv4, sum: 10, head: h, src: src, dst: dst})
}

// IPOptions adds options to the last IPv4 header, filled up to a multiple of
// four bytes.
func (b *Builder) IPOptions(o ...byte) *Builder {
	l := b.last()
	for len(o)%4 != 0 {
		o = append(o, 0)
	}
	l.head = append(l.head[:20:20], o...)
	l.head[0] = 0x40 | byte(len(l.head)/4)
	return b
}

// ID sets the identification of an IPv4 header or an IPv6 fragment header.
func (b *Builder) ID(id uint32) *Builder {
	if b.last().kind == kIPv4 {
		return b.Set16(4, uint16(id))
	}
	return b.Set(4, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

// Fragment makes the last IPv4 header, or IPv6 fragment header, that of a
// fragment at byte offset off.
func (b *Builder) Fragment(off int, more bool) *Builder {
	if b.last().kind == kIPv4 {
		w := uint16(off / 8)
		if more {
			w |= 0x2000
		}
		return b.Set16(6, w)
	}
	w := uint16(off)
	if more {
		w |= 1
	}
	return b.Set16(2, w)
}

// TTL sets the TTL or hop limit of the last IP header.
func (b *Builder) TTL(v uint8) *Builder {
	if b.last().kind == kIPv4 {
		return b.Set(8, v)
	}
	return b.Set(7, v)
}

// TOS sets the TOS byte or traffic class of the last IP header.
func (b *Builder) TOS(v uint8) *Builder {
	l := b.last()
	if l.kind == kIPv4 {
		return b.Set(1, v)
	}
	return b.Set(0, 0x60|v>>4, v<<4)
}

// Proto sets the protocol of the last IP or extension header, when bare data
// follows.
func (b *Builder) Proto(p uint8) *Builder {
	switch b.last().kind {
	case kIPv4:
		return b.Set(9, p)
	case kIPv6:
		return b.Set(6, p)
	}
	return b.Set(0, p)
}

// IPv6 adds an IPv6 header: hop limit 64.
func (b *Builder) IPv6(src, dst netip.Addr) *Builder {
	h := make([]byte, 40)
	h[0], h[6], h[7] = 0x60, packet.ProtoNoNext, 64
	s, d := src.As16(), dst.As16()
	copy(h[8:], s[:])
	copy(h[24:], d[:])
	return b.add(layer{kind: kIPv6, sum: -1, head: h, src: src, dst: dst})
}

// Ext adds an IPv6 extension header of protocol p; body is what stands behind
// its length byte, filled up with PadN for options headers, else with zeros.
func (b *Builder) Ext(p uint8, body ...byte) *Builder {
	h := append([]byte{packet.ProtoNoNext, 0}, body...)
	if n := -len(h) & 7; n > 0 {
		fill := make([]byte, n)
		if n > 1 && (p == packet.ProtoHopOpts || p == packet.ProtoDstOpts) {
			fill[0], fill[1] = 1, byte(n-2)
		}
		h = append(h, fill...)
	}
	h[1] = byte(len(h)/8 - 1)
	return b.add(layer{kind: kExt, proto: p, sum: -1, head: h})
}

// HopByHop adds a hop-by-hop options header.
func (b *Builder) HopByHop(opts ...byte) *Builder { return b.Ext(packet.ProtoHopOpts, opts...) }

// DstOpts adds a destination options header.
func (b *Builder) DstOpts(opts ...byte) *Builder { return b.Ext(packet.ProtoDstOpts, opts...) }

// Routing adds a routing header of type t with left segments left.
func (b *Builder) Routing(t, left uint8, via ...netip.Addr) *Builder {
	body := []byte{t, left, 0, 0, 0, 0}
	for _, a := range via {
		s := a.As16()
		body = append(body, s[:]...)
	}
	return b.Ext(packet.ProtoRouting, body...)
}

// FragHdr adds an IPv6 fragment header, an atomic one unless Fragment follows.
func (b *Builder) FragHdr(id uint32) *Builder {
	h := make([]byte, 8)
	h[0] = packet.ProtoNoNext
	binary.BigEndian.PutUint32(h[4:], id)
	return b.add(layer{kind: kFrag, proto: packet.ProtoFragment, sum: -1, head: h})
}

// UDP adds a UDP header.
func (b *Builder) UDP(sport, dport uint16) *Builder {
	return b.add(layer{kind: kUDP, proto: packet.ProtoUDP, sum: 6, head: ports(8, sport, dport)})
}

// TCP adds a TCP header with these flags (packet.SYN and so on).
func (b *Builder) TCP(sport, dport uint16, flags uint8) *Builder {
	h := ports(20, sport, dport)
	h[12], h[13] = 5<<4, flags
	binary.BigEndian.PutUint16(h[14:], 65535)
	return b.add(layer{kind: kTCP, proto: packet.ProtoTCP, sum: 16, head: h})
}

// Seq sets the sequence and acknowledgment numbers of the last TCP header.
func (b *Builder) Seq(seq, ack uint32) *Builder {
	h := b.last().head
	binary.BigEndian.PutUint32(h[4:], seq)
	binary.BigEndian.PutUint32(h[8:], ack)
	return b
}

// TCPOptions adds options to the last TCP header, filled up with zeros.
func (b *Builder) TCPOptions(o ...byte) *Builder {
	l := b.last()
	for len(o)%4 != 0 {
		o = append(o, 0)
	}
	l.head = append(l.head[:20:20], o...)
	l.head[12] = byte(len(l.head)/4) << 4
	return b
}

// ICMP adds an ICMP header, ICMPv6 inside IPv6. rest is its second word.
func (b *Builder) ICMP(typ, code uint8, rest uint32) *Builder {
	p := uint8(packet.ProtoICMP)
	if ip := b.network(len(b.layers)); ip != nil && ip.kind == kIPv6 {
		p = packet.ProtoICMPv6
	}
	h := make([]byte, 8)
	h[0], h[1] = typ, code
	binary.BigEndian.PutUint32(h[4:], rest)
	return b.add(layer{kind: kICMP, proto: p, sum: 2, head: h})
}

// SCTP adds an SCTP common header. Its checksum (CRC32c) stays 0.
func (b *Builder) SCTP(sport, dport uint16) *Builder {
	return b.add(layer{kind: kPorts, proto: packet.ProtoSCTP, sum: -1, head: ports(12, sport, dport)})
}

// DCCP adds a DCCP header of a data packet. Its checksum stays 0.
func (b *Builder) DCCP(sport, dport uint16) *Builder {
	h := ports(12, sport, dport)
	h[4], h[8] = 3, 2<<1
	return b.add(layer{kind: kPorts, proto: packet.ProtoDCCP, sum: -1, head: h})
}

// UDPLite adds a UDP-Lite header that covers the whole packet.
func (b *Builder) UDPLite(sport, dport uint16) *Builder {
	return b.add(layer{kind: kPorts, proto: packet.ProtoUDPLite, sum: 6, head: ports(8, sport, dport)})
}

// ports returns a header of n bytes that begins with the ports.
func ports(n int, sport, dport uint16) []byte {
	h := make([]byte, n)
	binary.BigEndian.PutUint16(h, sport)
	binary.BigEndian.PutUint16(h[2:], dport)
	return h
}

// Payload adds bytes.
func (b *Builder) Payload(d []byte) *Builder {
	return b.add(layer{kind: kData, sum: -1, head: d})
}

// PayloadLen adds n bytes 0, 1, 2, ... 255, 0, ...
func (b *Builder) PayloadLen(n int) *Builder {
	d := make([]byte, n)
	for i := range d {
		d[i] = byte(i)
	}
	return b.Payload(d)
}
