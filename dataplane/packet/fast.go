package packet

import (
	"encoding/binary"

	"edemux/dataplane/mib"
	"edemux/flowtable"
)

// The short cut: most packets are whole, and IPv4 without options and
// fragments, or IPv6 without extension headers, with global addresses and a
// sound UDP or TCP header. The functions here parse just those, behind any link
// layer. They return false, with m in an undefined state, for any other packet;
// the general code, which must say the same of these, then parses it. The
// caller sets PktType, VLANs, NVLAN and Loopback.

// fastEther is the short cut for an untagged Ethernet frame of at least 42
// bytes.
func fastEther(d []byte, o *Options, m *Meta) bool {
	switch w := binary.BigEndian.Uint32(d[12:16]); {
	case w>>8 == EtherIPv4<<8|0x45:
		return fast4(d, ethLen, o, m)
	case w>>12 == EtherIPv6<<4|6:
		return fast6(d, ethLen, o, m)
	}
	return false
}

// fast is the short cut for what stands behind l.
func (l *link) fast(d []byte, o *Options, m *Meta) bool {
	if l.short || l.punt != mib.NotPunted || len(d) <= l.off {
		return false
	}
	switch v := d[l.off]; {
	case v == 0x45 && (l.raw || l.proto == EtherIPv4):
		return fast4(d, uint32(l.off), o, m)
	case v>>4 == 6 && (l.raw || l.proto == EtherIPv6):
		return fast6(d, uint32(l.off), o, m)
	}
	return false
}

func fast4(d []byte, l3 uint32, o *Options, m *Meta) bool {
	if uint(len(d)) < uint(l3)+ip4Len+udpLen {
		return false
	}
	b := (*[ip4Len + udpLen]byte)(d[l3:])
	n := uint32(len(d)) - l3
	tot := uint32(binary.BigEndian.Uint16(b[2:4]))
	if binary.BigEndian.Uint16(b[6:8])&0x3fff != 0 || tot > n || tot < ip4Len+udpLen || n > 0xffff {
		return false
	}
	if o.VerifyIP {
		s := uint64(binary.LittleEndian.Uint32(b[0:4])) + uint64(binary.LittleEndian.Uint32(b[4:8])) +
			uint64(binary.LittleEndian.Uint32(b[8:12])) + uint64(binary.LittleEndian.Uint32(b[12:16])) +
			uint64(binary.LittleEndian.Uint32(b[16:20]))
		if s%0xffff != 0 {
			return false
		}
	}
	m.Saddr = flowtable.V4(binary.BigEndian.Uint32(b[12:16]))
	m.Daddr = flowtable.V4(binary.BigEndian.Uint32(b[16:20]))
	m.IPVer, m.Proto, m.NextHdr = 4, b[9], b[9]
	m.TOS, m.TTL = b[1], b[8]
	m.L3, m.L3Len = l3, tot
	return m.fastL4(d, (*[udpLen]byte)(b[ip4Len:]), l3+ip4Len, tot-ip4Len, o)
}

func fast6(d []byte, l3 uint32, o *Options, m *Meta) bool {
	if uint(len(d)) < uint(l3)+ip6Len+udpLen {
		return false
	}
	b := (*[ip6Len + udpLen]byte)(d[l3:])
	n := uint32(len(d)) - l3
	plen := uint32(binary.BigEndian.Uint16(b[4:6]))
	if plen > n-ip6Len || plen < udpLen || n > 0xffff {
		return false
	}
	m.Saddr = flowtable.AddrFrom16((*[16]byte)(b[8:24]))
	m.Daddr = flowtable.AddrFrom16((*[16]byte)(b[24:40]))
	// ::/64 holds the loopback address, ff00::/8 the multicast ones.
	if m.Saddr.Hi == 0 || m.Daddr.Hi == 0 || b[8] == 0xff || b[24] == 0xff {
		return false
	}
	m.IPVer, m.Proto, m.NextHdr = 6, b[6], b[6]
	m.TOS, m.TTL = b[0]<<4|b[1]>>4, b[7]
	m.L3, m.L3Len = l3, plen+ip6Len
	return m.fastL4(d, (*[udpLen]byte)(b[ip6Len:]), l3+ip6Len, plen, o)
}

// fastL4 takes the transport header at l4, of which t holds the beginning. n
// is the length of the transport part, all of it in d.
func (m *Meta) fastL4(d []byte, t *[udpLen]byte, l4, n uint32, o *Options) bool {
	m.L4, m.L4Len = l4, n
	m.FragOff = 0
	m.Reason, m.L4Reason, m.Punt = mib.NotDropped, mib.NotDropped, mib.NotPunted
	w := binary.BigEndian.Uint64(t[:])
	m.Sport, m.Dport = uint16(w>>48), uint16(w>>32)
	switch m.Proto {
	case ProtoUDP:
		u := uint32(w) >> 16
		if u < udpLen || u > n {
			return false
		}
		m.Flags = HasPorts | HasTuple | HasSaddr | HasProto
		m.Payload, m.PayloadLen = l4+udpLen, u-udpLen
		if uint16(w) == 0 {
			m.Flags |= UDPZeroCsum
		} else if o.VerifyL4 {
			m.verify(d, u)
		}
		return true
	case ProtoTCP:
		return m.fastTCP(d, o)
	}
	return false
}

func (m *Meta) fastTCP(d []byte, o *Options) bool {
	if m.L4Len < tcpLen {
		return false
	}
	t := (*[tcpLen]byte)(d[m.L4:])
	doff := t[12] >> 4 << 2
	if doff < tcpLen || uint32(doff) > m.L4Len {
		return false
	}
	m.Flags = HasPorts | HasTuple | HasSaddr | HasProto | HasTCP
	m.Seq, m.Ack = binary.BigEndian.Uint32(t[4:8]), binary.BigEndian.Uint32(t[8:12])
	m.TCPFlags, m.Doff = t[13], doff
	m.Payload, m.PayloadLen = m.L4+uint32(doff), m.L4Len-uint32(doff)
	if o.VerifyL4 {
		m.verifyTCP(d)
	}
	return true
}
