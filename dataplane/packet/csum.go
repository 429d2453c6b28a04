package packet

import (
	"encoding/binary"
	"math/bits"

	"edemux/flowtable"
)

// Sum adds b to the ones-complement sum acc as big-endian words; an odd last
// byte counts as the high half of a word. Only the last call of a chain may
// have an odd length.
func Sum(acc uint64, b []byte) uint64 {
	var c uint64
	for len(b) >= 32 {
		p := (*[32]byte)(b)
		acc, c = bits.Add64(acc, binary.BigEndian.Uint64(p[0:8]), 0)
		acc, c = bits.Add64(acc, binary.BigEndian.Uint64(p[8:16]), c)
		acc, c = bits.Add64(acc, binary.BigEndian.Uint64(p[16:24]), c)
		acc, c = bits.Add64(acc, binary.BigEndian.Uint64(p[24:32]), c)
		acc, c = bits.Add64(acc, 0, c)
		acc += c
		b = b[32:]
	}
	for len(b) >= 8 {
		acc, c = bits.Add64(acc, binary.BigEndian.Uint64(b), 0)
		acc += c
		b = b[8:]
	}
	if len(b) >= 4 {
		acc = add(acc, uint64(binary.BigEndian.Uint32(b)))
		b = b[4:]
	}
	if len(b) >= 2 {
		acc = add(acc, uint64(binary.BigEndian.Uint16(b)))
		b = b[2:]
	}
	if len(b) == 1 {
		acc = add(acc, uint64(b[0])<<8)
	}
	return acc
}

func add(a, b uint64) uint64 {
	s, c := bits.Add64(a, b, 0)
	return s + c
}

// Fold reduces a sum to the checksum field that makes it valid: the
// complement of its 16-bit ones-complement value.
func Fold(acc uint64) uint16 {
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>32 + acc&0xffffffff
	acc = acc>>16 + acc&0xffff
	acc = acc>>16 + acc&0xffff
	return ^uint16(acc)
}

// PseudoSum is the sum of the TCP/UDP/ICMPv6 pseudo header. length is that of
// the transport part in bytes. The family is that of saddr.
func PseudoSum(saddr, daddr flowtable.Addr, proto uint8, length uint32) uint64 {
	acc := uint64(proto) + uint64(length)
	if saddr.Is4() {
		return acc + saddr.Lo&0xffffffff + daddr.Lo&0xffffffff
	}
	acc = add(add(acc, saddr.Hi), saddr.Lo)
	return add(add(acc, daddr.Hi), daddr.Lo)
}

// headerOK verifies the checksum of an IPv4 header (ip_fast_csum). A sum is a
// multiple of 65535 exactly when its ones-complement value is 0xffff, in either
// byte order; it is not 0 since the version is not.
func headerOK(h []byte) bool {
	var s uint64
	for len(h) >= 4 {
		s += uint64(binary.LittleEndian.Uint32(h))
		h = h[4:]
	}
	return s%0xffff == 0
}

// l4SumOK verifies the transport checksum of n bytes at m.L4 of d, which must
// all be there, with the pseudo header of m.
func l4SumOK(d []byte, m *Meta, n uint32) bool {
	acc := PseudoSum(m.Saddr, m.Daddr, m.Proto, n)
	return Sum(acc, d[m.L4:m.L4+n])%0xffff == 0
}

// ICMPSum verifies the checksum of the ICMP or ICMPv6 message in d, as icmp_rcv
// and icmpv6_rcv do. known is false when the capture lacks bytes of it.
func ICMPSum(d []byte, m *Meta) (ok, known bool) {
	end := uint64(m.L4) + uint64(m.L4Len)
	if !m.Has(HasICMP|HasTuple) || end > uint64(len(d)) {
		return false, false
	}
	var acc uint64
	if m.IPVer == 6 {
		acc = PseudoSum(m.Saddr, m.Daddr, ProtoICMPv6, m.L4Len)
	}
	return Sum(acc, d[m.L4:end])%0xffff == 0, true
}
