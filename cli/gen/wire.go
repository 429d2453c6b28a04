package gen

import (
	"encoding/binary"

	"edemux/flowtable"
)

var be = binary.BigEndian

const (
	protoICMP, protoTCP, protoUDP, protoICMP6 = 1, 6, 17, 58

	ttl = 64
)

// fold brings a sum of big-endian words of 16, 32 or 64 bits (added as wider
// numbers, carries kept) to the 16-bit one's complement sum.
func fold(s uint64) uint16 {
	s = s>>32 + s&0xffffffff
	s = s>>32 + s&0xffffffff
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	s = s>>16 + s&0xffff
	return uint16(s)
}

// sumAddr is the part of an address in the pseudo header of its family.
func sumAddr(a flowtable.Addr, v6 bool) uint64 {
	if !v6 {
		return a.Lo & 0xffffffff
	}
	return a.Hi>>32 + a.Hi&0xffffffff + a.Lo>>32 + a.Lo&0xffffffff
}

// sumBytes adds up b, zero-padded to an even length.
func sumBytes(b []byte) (s uint64) {
	for len(b) >= 2 {
		s += uint64(be.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		s += uint64(b[0]) << 8
	}
	return s
}

// grow appends n zero bytes and returns the whole and the new part.
func grow(b []byte, n int) (all, part []byte) {
	at := len(b)
	if at+n <= cap(b) {
		b = b[:at+n]
		clear(b[at:])
	} else {
		b = append(b, make([]byte, n)...)
	}
	return b, b[at:]
}

// appendIP appends the IP datagram of a segment with right checksums. DF is set
// (IPv4) unless the datagram is going to be fragmented.
func appendIP(b []byte, s *segment, df bool) []byte {
	saddr, daddr, sport, dport := s.faddr, s.laddr, s.fport, s.lport
	if s.out {
		saddr, daddr, sport, dport = daddr, saddr, dport, sport
	}
	proto, l4len := byte(protoUDP), 8+s.payload
	if s.tcp {
		proto, l4len = protoTCP, 20+s.payload
	}
	b = appendHeader(b, saddr, daddr, s.v6, proto, l4len, s.id, df)
	b, l4 := grow(b, l4len)
	ports := uint32(sport)<<16 | uint32(dport)
	sum := sumAddr(saddr, s.v6) + sumAddr(daddr, s.v6) + uint64(proto) + uint64(l4len) + uint64(ports) + stamp(l4[l4len-s.payload:], s)
	be.PutUint32(l4, ports)
	if !s.tcp {
		be.PutUint16(l4[4:], uint16(l4len))
		c := ^fold(sum + uint64(l4len))
		if c == 0 {
			c = 0xffff // 0 would say that there is no checksum
		}
		be.PutUint16(l4[6:], c)
		return b
	}
	const window = 64240
	word := uint32(5)<<28 | uint32(s.flags)<<16 | window
	be.PutUint32(l4[4:], s.seq)
	be.PutUint32(l4[8:], s.ack)
	be.PutUint32(l4[12:], word)
	be.PutUint16(l4[16:], ^fold(sum+uint64(s.seq)+uint64(s.ack)+uint64(word)))
	return b
}

// magic begins every payload with room for a stamp: without it, analysers take
// the numbers behind it for protocols that begin with a length.
const magic = 0x65646d78 // edmx

// stamp begins the payload with a magic word and the numbers of the flow and of
// its packet, so that order can be checked behind the dataplane; the rest is
// zero. It returns what this adds to the checksum: payloads begin at an even
// offset.
func stamp(payload []byte, s *segment) uint64 {
	if len(payload) < 12 {
		return 0
	}
	be.PutUint32(payload, magic)
	be.PutUint32(payload[4:], uint32(s.flow))
	be.PutUint32(payload[8:], s.turn)
	return magic + s.flow + uint64(s.turn)
}

// appendHeader appends an IPv4 or IPv6 header in front of n bytes of proto.
func appendHeader(b []byte, saddr, daddr flowtable.Addr, v6 bool, proto byte, n int, id uint32, df bool) []byte {
	if v6 {
		b, h := grow(b, 40)
		h[0] = 0x60
		be.PutUint16(h[4:], uint16(n))
		h[6], h[7] = proto, ttl
		putAddr6(h[8:], saddr)
		putAddr6(h[24:], daddr)
		return b
	}
	b, h := grow(b, 20)
	h[0] = 0x45
	be.PutUint16(h[2:], uint16(20+n))
	be.PutUint16(h[4:], uint16(id))
	if df {
		h[6] = 0x40
	}
	h[8], h[9] = ttl, proto
	be.PutUint32(h[12:], saddr.As4())
	be.PutUint32(h[16:], daddr.As4())
	sum := uint64(0x45)<<8 + uint64(20+n) + id4(id) + uint64(h[6])<<8 + uint64(ttl)<<8 + uint64(proto)
	be.PutUint16(h[10:], ^fold(sum+uint64(saddr.As4())+uint64(daddr.As4())))
	return b
}

func id4(id uint32) uint64 { return uint64(id & 0xffff) }

func putAddr6(b []byte, a flowtable.Addr) {
	be.PutUint64(b, a.Hi)
	be.PutUint64(b[8:], a.Lo)
}

// appendError appends an ICMP error about the datagram that the local side of
// flow s sent last: every second one comes from a router on the way (time
// exceeded), the others from the remote host (port unreachable).
func appendError(b []byte, s *segment, quote []byte) []byte {
	fromRouter := s.turn&1 == 0
	from, typ, code, proto := s.faddr, byte(3), byte(3), byte(protoICMP)
	if fromRouter {
		from, typ, code = router4, 11, 0
	}
	if s.v6 {
		typ, code, proto = 1, 4, protoICMP6
		if fromRouter {
			from, typ, code = router6, 3, 0
		}
	}
	n := 8 + len(quote)
	b = appendHeader(b, from, s.laddr, s.v6, proto, n, s.id, true)
	b, m := grow(b, n)
	m[0], m[1] = typ, code
	copy(m[8:], quote)
	sum := sumBytes(m)
	if s.v6 {
		sum += sumAddr(from, true) + sumAddr(s.laddr, true) + uint64(n) + protoICMP6
	}
	be.PutUint16(m[2:], ^fold(sum))
	return b
}

// quoted is what a router sends back of a datagram: the IP header and, as all
// routers do, at least eight bytes behind it.
func quoted(ip []byte, v6 bool) []byte {
	if v6 {
		return ip[:min(len(ip), 1232)]
	}
	return ip[:28]
}

// fragment cuts the IP datagram ip into pieces of at most mtu bytes and hands
// each to emit; the slice given is overwritten by the next piece. scratch is
// reused.
func fragment(ip, scratch []byte, mtu int, id uint32, emit func([]byte)) []byte {
	v6 := ip[0]>>4 == 6
	head := 20
	if v6 {
		head = 40
	}
	room := mtu - head
	if v6 {
		room -= 8
	}
	room &^= 7
	body := ip[head:]
	for at := 0; at < len(body); at += room {
		part := body[at:min(at+room, len(body))]
		more := at+room < len(body)
		scratch = append(scratch[:0], ip[:head]...)
		if v6 {
			scratch = fragmentHeader6(scratch, len(part), uint16(at), more, id)
		} else {
			fragmentHeader4(scratch, len(part), uint16(at), more)
		}
		scratch = append(scratch, part...)
		emit(scratch)
	}
	return scratch
}

func fragmentHeader4(h []byte, n int, at uint16, more bool) {
	off := at >> 3
	if more {
		off |= 0x2000
	}
	be.PutUint16(h[2:], uint16(20+n))
	be.PutUint16(h[6:], off)
	be.PutUint16(h[10:], 0)
	be.PutUint16(h[10:], ^fold(sumBytes(h)))
}

func fragmentHeader6(h []byte, n int, at uint16, more bool, id uint32) []byte {
	next := h[6]
	h[6] = 44
	be.PutUint16(h[4:], uint16(8+n))
	h, f := grow(h, 8)
	f[0] = next
	if more {
		at |= 1
	}
	be.PutUint16(f[2:], at)
	be.PutUint32(f[4:], id)
	return h
}
