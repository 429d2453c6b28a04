package packet

import (
	"encoding/binary"

	"edemux/flowtable"
)

// Inner is the datagram inside an ICMP error, in its own orientation: the
// local host sent it, so Saddr and Sport are ours.
type Inner struct {
	Saddr, Daddr flowtable.Addr
	Sport, Dport uint16
	Seq          uint32 // TCP sequence number; valid if HasSeq
	IPVer        uint8
	Proto        uint8 // after IPv6 extension headers
	HasPorts     bool  // offset 0, a protocol with ports, port words present
	HasSeq       bool
	Fragment     bool // a later fragment: what follows is no transport header
}

// Embedded reads the datagram in the ICMP error that m describes and d holds.
// ok is false when the kernel would not look for a socket (IcmpInErrors): no
// whole inner IP header and eight bytes behind it (icmp_socket_deliver,
// icmpv6_notify), or when the capture ends before the ports. The result is
// filled as far as the bytes are there in both cases.
func Embedded(d []byte, m *Meta) (e Inner, ok bool) {
	if !m.Has(ICMPError) || uint64(m.Payload) > uint64(len(d)) {
		return e, false
	}
	end := min(uint64(m.L3)+uint64(m.L3Len), uint64(len(d)))
	if uint64(m.Payload) > end {
		return e, false
	}
	b := d[m.Payload:end]
	if m.IPVer == 6 {
		return e, e.ipv6(b, m.PayloadLen)
	}
	return e, e.ipv4(b, m.PayloadLen)
}

// ipv4 reads b; wire is how long the quoted datagram was before any cut.
func (e *Inner) ipv4(b []byte, wire uint32) bool {
	if len(b) < ip4Len || b[0]>>4 != 4 || b[0]&15 < ip4Len/4 {
		return false
	}
	e.IPVer, e.Proto = 4, b[9]
	e.Saddr = flowtable.V4(binary.BigEndian.Uint32(b[12:]))
	e.Daddr = flowtable.V4(binary.BigEndian.Uint32(b[16:]))
	e.Fragment = binary.BigEndian.Uint16(b[6:])&0x1fff != 0
	return e.l4(b, uint32(b[0]&15)*4, wire)
}

// ipv6 follows ipv6_skip_exthdr: it ends at a later fragment.
func (e *Inner) ipv6(b []byte, wire uint32) bool {
	if len(b) < ip6Len || b[0]>>4 != 6 {
		return false
	}
	e.IPVer, e.Proto = 6, b[6]
	e.Saddr = flowtable.AddrFrom16((*[16]byte)(b[8:24]))
	e.Daddr = flowtable.AddrFrom16((*[16]byte)(b[24:40]))
	off := uint32(ip6Len)
	for range maxExtHdrs {
		if !isExt(e.Proto) {
			break
		}
		if uint64(off)+8 > uint64(len(b)) {
			return false
		}
		h := b[off:]
		n := uint32(fragLen)
		if e.Proto != ProtoFragment {
			n = (uint32(h[1]) + 1) * 8
		}
		e.Fragment = e.Proto == ProtoFragment && binary.BigEndian.Uint16(h[2:])&^7 != 0
		e.Proto, off = h[0], off+n
		if e.Fragment {
			break
		}
	}
	return e.l4(b, off, wire)
}

func (e *Inner) l4(b []byte, off, wire uint32) bool {
	if off+8 > wire {
		e.ports(b, off)
		return false
	}
	return e.ports(b, off)
}

// ports takes the ports, and of TCP the sequence number, behind off.
func (e *Inner) ports(b []byte, off uint32) bool {
	if e.Fragment {
		return true
	}
	switch e.Proto {
	case ProtoTCP, ProtoUDP, ProtoUDPLite, ProtoSCTP, ProtoDCCP:
	default:
		return true
	}
	if uint64(off)+4 > uint64(len(b)) {
		return false
	}
	t := b[off:]
	e.Sport, e.Dport = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	e.HasPorts = true
	if e.Proto != ProtoTCP {
		return true
	}
	if len(t) < 8 {
		return false
	}
	e.Seq, e.HasSeq = binary.BigEndian.Uint32(t[4:]), true
	return true
}
