package packet

import (
	"encoding/binary"

	"edemux/dataplane/mib"
)

// parseL4 reads the transport header at m.L4. Of a later fragment there is
// none; of a first one only the record is taken, since the checks follow the
// reassembly.
func (m *Meta) parseL4(d []byte, o *Options) {
	m.Payload, m.PayloadLen = m.L4, m.L4Len
	if uint64(m.L3)+uint64(m.L3Len) > uint64(len(d)) {
		m.Flags |= L4Cut
	}
	if m.FragOff != 0 {
		return
	}
	end := min(m.L3+m.L3Len, uint32(len(d)))
	var t []byte
	if m.L4 < end {
		t = d[m.L4:end]
	}
	switch m.Proto {
	case ProtoUDP:
		m.udp(d, t, o)
	case ProtoTCP:
		m.tcp(d, t, o)
	case ProtoUDPLite, ProtoSCTP, ProtoDCCP:
		m.ports(t)
	case ProtoICMP, ProtoICMPv6:
		if (m.IPVer == 6) == (m.Proto == ProtoICMPv6) {
			m.icmp(t)
		}
	}
}

// ports takes the port words when they are there.
func (m *Meta) ports(t []byte) bool {
	if len(t) < 4 {
		m.Flags |= L4Short
		return false
	}
	m.Sport, m.Dport = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	m.Flags |= HasPorts
	return true
}

// check notes the failure of a transport check, which fragments do not meet.
func (m *Meta) check(r mib.Reason) {
	if m.Flags&Fragment == 0 {
		m.l4Fail(r)
	}
}

// udp follows __udp4_lib_rcv and __udp6_lib_rcv up to the checksum. With a
// snap length that leaves the ports, the ports are used.
func (m *Meta) udp(d, t []byte, o *Options) {
	have := m.ports(t)
	if m.L4Len < udpLen {
		m.Flags |= L4Short
		m.check(mib.PktTooSmall)
		return
	}
	if !have {
		m.check(mib.PktTooSmall)
		return
	}
	m.Payload, m.PayloadLen = m.L4+udpLen, m.L4Len-udpLen
	if len(t) < udpLen {
		return
	}
	n := uint32(binary.BigEndian.Uint16(t[4:]))
	if n == 0 && m.IPVer == 6 || m.Flags&SuperFrame != 0 {
		n = m.L4Len
	}
	if m.Flags&Fragment != 0 {
		return
	}
	if n < udpLen || n > m.L4Len {
		m.check(mib.PktTooSmall)
		return
	}
	m.PayloadLen = n - udpLen
	switch {
	case t[6]|t[7] == 0:
		m.Flags |= UDPZeroCsum
	case o.VerifyL4 && n <= uint32(len(t)):
		m.verify(d, n)
	}
}

// tcpFlagsEnd is how much of a TCP header a snap length must leave: up to the
// flags.
const tcpFlagsEnd = 14

// tcp follows tcp_v4_rcv and tcp_v6_rcv up to the checksum.
func (m *Meta) tcp(d, t []byte, o *Options) {
	m.ports(t)
	if m.L4Len < tcpLen || len(t) < tcpFlagsEnd {
		m.Flags |= L4Short
		m.check(mib.PktTooSmall)
		return
	}
	m.Flags |= HasTCP
	m.Seq, m.Ack = binary.BigEndian.Uint32(t[4:]), binary.BigEndian.Uint32(t[8:])
	m.TCPFlags, m.Doff = t[13], t[12]>>4<<2
	n := uint32(m.Doff)
	if n < tcpLen || n > m.L4Len {
		m.check(mib.PktTooSmall)
		return
	}
	m.Payload, m.PayloadLen = m.L4+n, m.L4Len-n
	if o.VerifyL4 && m.Flags&(Fragment|L4Cut) == 0 {
		m.verifyTCP(d)
	}
}

const icmpLen = 8

// icmp notes type and code and whether it is an error that carries a datagram.
func (m *Meta) icmp(t []byte) {
	if m.L4Len < icmpLen || len(t) < 2 {
		m.Flags |= L4Short
		return
	}
	m.Flags |= HasICMP
	m.ICMPType, m.ICMPCode = t[0], t[1]
	m.Payload, m.PayloadLen = m.L4+icmpLen, m.L4Len-icmpLen
	if m.Flags&Fragment == 0 && isICMPError(m.IPVer, t[0]) {
		m.Flags |= ICMPError
	}
}

// isICMPError tells the types whose handler looks a socket up: icmp_unreach
// and icmp_redirect's in icmp_pointers, and those that icmpv6_rcv gives to
// icmpv6_notify.
func isICMPError(ver, typ uint8) bool {
	if ver == 6 {
		return typ >= 1 && typ <= 4
	}
	return typ == 3 || typ == 4 || typ == 5 || typ == 11 || typ == 12
}
