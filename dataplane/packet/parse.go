package packet

import (
	"encoding/binary"

	"edemux/dataplane/mib"
	"edemux/flowtable"
)

// IP protocol numbers.
const (
	ProtoHopOpts  = 0
	ProtoICMP     = 1
	ProtoTCP      = 6
	ProtoUDP      = 17
	ProtoDCCP     = 33
	ProtoRouting  = 43
	ProtoFragment = 44
	ProtoESP      = 50
	ProtoAH       = 51
	ProtoICMPv6   = 58
	ProtoNoNext   = 59
	ProtoDstOpts  = 60
	ProtoSCTP     = 132
	ProtoMobility = 135
	ProtoUDPLite  = 136
)

const (
	ip4Len = 20
	ip6Len = 40
	udpLen = 8
	tcpLen = 20

	// mtu is the longest datagram that is taken for one packet of a wire when
	// its header gives no length: longer ones are GRO/GSO frames.
	mtu = 1500
)

// Parse fills m from f: ip_rcv_core and ip6_rcv_core, then the checks that the
// kernel makes after routing (m.L4Reason). It keeps no reference to f, neither
// allocates nor panics, and costs a bounded time for any bytes.
func Parse(f *Frame, o *Options, m *Meta) {
	if d := f.Data; len(d) >= ethLen+ip4Len+udpLen && f.Link == LinkEthernet &&
		len(d) <= ethLen+0xffff && uint32(len(d)) == f.WireLen && !f.VLANStripped && !f.HasPktType {
		if plain(d, o, m) {
			return
		}
	}
	parseAny(f, o, m)
}

// plain is Parse for a whole, untagged Ethernet frame with an unfragmented
// IPv4 packet without options and a sound UDP or TCP header. It returns false,
// with m in an undefined state, for any other.
func plain(d []byte, o *Options, m *Meta) bool {
	b := (*[ethLen + ip4Len + udpLen]byte)(d)
	tot := uint32(binary.BigEndian.Uint16(b[16:18]))
	if binary.BigEndian.Uint32(b[12:16])>>8 != EtherIPv4<<8|0x45 ||
		binary.BigEndian.Uint16(b[20:22])&0x3fff != 0 ||
		tot > uint32(len(d)-ethLen) || tot < ip4Len+udpLen ||
		binary.LittleEndian.Uint64(b[0:8]) == 0 {
		return false
	}
	if o.VerifyIP {
		s := uint64(binary.LittleEndian.Uint32(b[14:18])) + uint64(binary.LittleEndian.Uint32(b[18:22])) +
			uint64(binary.LittleEndian.Uint32(b[22:26])) + uint64(binary.LittleEndian.Uint32(b[26:30])) +
			uint64(binary.LittleEndian.Uint32(b[30:34]))
		if s%0xffff != 0 {
			return false
		}
	}
	m.PktType = Host
	if b[0]&1 != 0 {
		m.PktType = macType(b[:6])
	}
	m.VLANs, m.NVLAN = 0, 0
	m.IPVer, m.Proto, m.NextHdr = 4, b[23], b[23]
	m.TOS, m.TTL = b[15], b[22]
	m.Reason, m.L4Reason, m.Punt = mib.NotDropped, mib.NotDropped, mib.NotPunted
	m.FragOff = 0
	m.L3, m.L4 = ethLen, ethLen+ip4Len
	m.L3Len, m.L4Len = tot, tot-ip4Len
	m.Saddr = flowtable.V4(binary.BigEndian.Uint32(b[26:30]))
	m.Daddr = flowtable.V4(binary.BigEndian.Uint32(b[30:34]))
	ports := binary.BigEndian.Uint32(b[34:38])
	m.Sport, m.Dport = uint16(ports>>16), uint16(ports)
	switch b[23] {
	case ProtoUDP:
		return plainUDP(d, o, m, binary.BigEndian.Uint32(b[38:42]))
	case ProtoTCP:
		return plainTCP(d, o, m)
	}
	return false
}

// plainUDP takes the second word of the header: length and checksum.
func plainUDP(d []byte, o *Options, m *Meta, w uint32) bool {
	n := w >> 16
	if n < udpLen || n > m.L4Len {
		return false
	}
	m.Flags = HasPorts | HasTuple | HasSaddr | HasProto
	m.Payload, m.PayloadLen = ethLen+ip4Len+udpLen, n-udpLen
	if w&0xffff == 0 {
		m.Flags |= UDPZeroCsum
	} else if o.VerifyL4 {
		m.verify(d, n)
	}
	return true
}

func plainTCP(d []byte, o *Options, m *Meta) bool {
	if len(d) < ethLen+ip4Len+tcpLen {
		return false
	}
	t := (*[tcpLen]byte)(d[ethLen+ip4Len:])
	doff := t[12] >> 4 << 2
	if doff < tcpLen || uint32(doff) > m.L4Len {
		return false
	}
	m.Flags = HasPorts | HasTuple | HasSaddr | HasProto | HasTCP
	m.Seq, m.Ack = binary.BigEndian.Uint32(t[4:8]), binary.BigEndian.Uint32(t[8:12])
	m.TCPFlags, m.Doff = t[13], doff
	m.Payload, m.PayloadLen = ethLen+ip4Len+uint32(doff), m.L4Len-uint32(doff)
	if o.VerifyL4 {
		m.verifyTCP(d)
	}
	return true
}

// verify checks the transport checksum over n bytes that are all in d. Of UDP
// it only notes the result: Linux looks at it once the socket is known.
func (m *Meta) verify(d []byte, n uint32) {
	if !l4SumOK(d, m, n) {
		m.Flags |= L4CsumBad
	}
}

func (m *Meta) verifyTCP(d []byte) {
	m.verify(d, m.L4Len)
	if m.Flags&L4CsumBad != 0 {
		m.l4Fail(mib.TCPCsum)
	}
}

// l4Fail notes the first check after routing that fails.
func (m *Meta) l4Fail(r mib.Reason) {
	if m.L4Reason == mib.NotDropped {
		m.L4Reason = r
	}
}

// fail notes the first check before routing that fails.
func (m *Meta) fail(r mib.Reason) {
	if m.Reason == mib.NotDropped {
		m.Reason = r
	}
}

// reset clears what every frame has; the fields that a flag guards stay.
func (m *Meta) reset() {
	m.Sport, m.Dport = 0, 0
	m.Flags = 0
	m.L3, m.L4, m.Payload, m.PayloadLen, m.L3Len, m.L4Len = 0, 0, 0, 0, 0, 0
	m.FragOff = 0
	m.IPVer, m.Proto, m.NextHdr, m.TOS, m.TTL = 0, 0, 0, 0, 0
	m.Reason, m.L4Reason, m.Punt = mib.NotDropped, mib.NotDropped, mib.NotPunted
}

// parseAny is Parse for every frame.
func parseAny(f *Frame, o *Options, m *Meta) {
	m.reset()
	l := linkOf(f)
	m.PktType = l.pkt
	if l.short {
		m.VLANs, m.NVLAN = 0, 0
		if f.VLANStripped {
			m.pushVLAN(f.TCI)
		}
	} else {
		l.vlans(f, m)
	}
	if l.loopback {
		m.Flags |= Loopback
	}
	wire := max(f.WireLen, uint32(len(f.Data)))
	switch {
	case l.short:
		m.Flags |= NonIPFrame
		m.fail(mib.PktTooSmall)
	case l.punt != mib.NotPunted:
		m.Flags |= NonIPFrame
		m.Punt = l.punt
	case l.raw:
		parseRaw(f.Data, wire, o, m)
	case l.proto == EtherIPv4:
		parseIPv4(f.Data, l.off, wire, o, m)
	case l.proto == EtherIPv6:
		parseIPv6(f.Data, l.off, wire, o, m)
	default:
		m.Flags |= NonIPFrame
		m.Punt = puntOf(l.proto)
	}
}

// parseRaw chooses the family by the version nibble, as tun does.
func parseRaw(d []byte, wire uint32, o *Options, m *Meta) {
	switch {
	case len(d) > 0 && d[0]>>4 == 4:
		parseIPv4(d, 0, wire, o, m)
	case len(d) > 0 && d[0]>>4 == 6:
		parseIPv6(d, 0, wire, o, m)
	default:
		m.Flags |= NonIPFrame
		m.fail(mib.IPInHdr)
	}
}

// ParseDatagram parses a reassembled datagram: d begins with the IP header and
// wire is its full length, more than len(d) when the capture lacks the rest.
// VLANs, NVLAN, PktType and Loopback of m, the Meta of the first fragment, stay.
func ParseDatagram(d []byte, wire uint32, o *Options, m *Meta) {
	keep := m.Flags & Loopback
	m.reset()
	m.Flags = keep
	parseRaw(d, max(wire, uint32(len(d))), o, m)
	if m.Flags&(Fragment|FragHdr) != 0 {
		// ipv6_frag_rcv refuses a fragment header inside a reassembled datagram.
		m.Flags &^= Fragment | FragHdr
		m.FragOff = 0
		m.L4Reason = mib.IPv6BadExthdr
	}
}
