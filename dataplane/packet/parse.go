package packet

import (
	"encoding/binary"

	"edemux/dataplane/mib"
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
	d := f.Data
	if len(d) < ethLen+ip4Len+udpLen || f.Link != LinkEthernet || uint32(len(d)) != f.WireLen ||
		f.VLANStripped || f.HasPktType || binary.LittleEndian.Uint64(d) == 0 || !fastEther(d, o, m) {
		parseAny(f, o, m, true)
		return
	}
	m.PktType = Host
	if d[0]&1 != 0 {
		m.PktType = macType(d)
	}
	m.VLANs, m.NVLAN = 0, 0
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

// parseAny is Parse for every frame. quick lets it take the short cut of plain
// packets behind any link layer.
func parseAny(f *Frame, o *Options, m *Meta, quick bool) {
	var l link
	l.read(f)
	m.PktType = l.pkt
	if l.short {
		m.VLANs, m.NVLAN = 0, 0
		if f.VLANStripped {
			m.pushVLAN(f.TCI)
		}
	} else {
		l.vlans(f, m)
	}
	wire := max(f.WireLen, uint32(len(f.Data)))
	if quick && wire == uint32(len(f.Data)) && l.fast(f.Data, o, m) {
		if l.loopback {
			m.Flags |= Loopback
		}
		return
	}
	m.reset()
	if l.loopback {
		m.Flags |= Loopback
	}
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
