package packet

import (
	"encoding/binary"

	"edemux/dataplane/mib"
	"edemux/flowtable"
)

const (
	// maxExtHdrs is how many extension headers the kernel handles in one packet
	// (IP6_MAX_EXT_HDRS_CNT); with more the packet is dropped on delivery.
	maxExtHdrs = 12
	// maxWalk bounds the walk that finds the protocol for the record.
	maxWalk = 64

	fragLen = 8
)

// parseIPv6 follows ip6_rcv_core for the header at d[l3]; wire as in parseIPv4.
func parseIPv6(d []byte, l3 int, wire uint32, o *Options, m *Meta) {
	b := d[l3:]
	n := wire - uint32(l3)
	m.L3 = uint32(l3)
	m.IPVer = 6
	if n < ip6Len {
		m.fail(mib.IPInHdr)
	}
	if len(b) > 0 && b[0]>>4 != 6 {
		m.fail(mib.UnhandledProto)
		return
	}
	if len(b) < ip6Len {
		m.partIPv6(b)
		m.fail(mib.PktTooSmall)
		m.Flags |= L4Short
		if uint32(len(b)) < n {
			m.Flags |= L4Cut
		}
		return
	}
	h := (*[ip6Len]byte)(b)
	m.Flags |= HasTuple | HasSaddr
	m.TOS = h[0]<<4 | h[1]>>4
	m.NextHdr, m.Proto, m.TTL = h[6], h[6], h[7]
	m.Saddr = flowtable.AddrFrom16((*[16]byte)(h[8:24]))
	m.Daddr = flowtable.AddrFrom16((*[16]byte)(h[24:40]))
	m.addrsIPv6()
	m.lengthIPv6(uint32(binary.BigEndian.Uint16(h[4:6])), n)
	m.walk(d, o)
}

// partIPv6 takes what there is of a header with fewer than 40 bytes.
func (m *Meta) partIPv6(b []byte) {
	if len(b) > 7 {
		m.NextHdr, m.Proto, m.TTL = b[6], b[6], b[7]
	}
	if len(b) >= 24 {
		m.Saddr = flowtable.AddrFrom16((*[16]byte)(b[8:24]))
		m.Flags |= HasSaddr
	}
}

// addrsIPv6 makes the address checks of ip6_rcv_core. Loopback addresses and
// interface-local multicast are for loopback devices; scope 0 is reserved.
func (m *Meta) addrsIPv6() {
	one := flowtable.Addr{Lo: 1}
	local := m.Flags&Loopback != 0
	mcast, scope := m.Daddr.Hi>>56 == 0xff, m.Daddr.Hi>>48&15
	switch {
	case (m.Saddr == one || m.Daddr == one) && !local,
		mcast && scope == 1 && !local,
		mcast && scope == 0,
		m.Saddr.Hi>>56 == 0xff:
		m.fail(mib.IPInHdr)
	}
}

// lengthIPv6 trims to the payload length, as ip6_rcv_core does. A length of 0
// before a hop-by-hop header leaves it to the jumbo option; before TCP in a
// datagram longer than any packet it is a BIG TCP frame (ipv6_payload_len).
func (m *Meta) lengthIPv6(plen, n uint32) {
	m.L3Len = plen + ip6Len
	switch {
	case n > 0xffff+ip6Len:
		m.L3Len = n
		m.Flags |= SuperFrame
	case plen == 0 && m.NextHdr == ProtoHopOpts:
		m.L3Len = n
	case plen == 0 && m.NextHdr == ProtoTCP && n > mtu:
		m.L3Len = n
		m.Flags |= SuperFrame
	case m.L3Len > n:
		m.fail(mib.PktTooSmall)
		m.L3Len = n
	}
}

// walk follows the extension headers from the fixed header to the transport
// header: ipv6_parse_hopopts before routing, then the handlers that
// ip6_protocol_deliver_rcu calls. It goes on behind a bad header, so that the
// record shows the protocol, and ends at a later fragment, whose bytes are not
// headers.
func (m *Meta) walk(d []byte, o *Options) {
	off, wireEnd := m.L3+ip6Len, m.L3+m.L3Len
	end := min(wireEnd, uint32(len(d)))
	nh, plen := m.NextHdr, d[m.L3+4]|d[m.L3+5] != 0
	for i := 0; isExt(nh); i++ {
		m.Flags |= Exthdr
		if i == maxExtHdrs {
			m.l4Fail(mib.IPv6BadExthdr)
		}
		n := m.extLen(d, nh, off, end, wireEnd)
		if n == 0 || i == maxWalk {
			m.Proto, m.L4, m.L4Len = nh, off, wireEnd-min(off, wireEnd)
			m.Flags |= L4Short
			return
		}
		h := d[off : off+n]
		switch nh {
		case ProtoHopOpts:
			m.hopOpts(h, i, off-m.L3, plen)
			wireEnd = m.L3 + m.L3Len
			end = min(wireEnd, uint32(len(d)))
		case ProtoRouting:
			m.routing(h)
		case ProtoDstOpts:
			if !m.inFragment() && !optsOK(h, false) {
				m.l4Fail(mib.IPv6BadExthdr)
			}
		case ProtoFragment:
			m.fragment(h, off, plen)
		}
		nh, off = h[0], off+n
		if m.FragOff != 0 {
			break
		}
	}
	m.Proto = nh
	m.Flags |= HasProto
	m.L4, m.L4Len = off, wireEnd-min(off, wireEnd)
	m.parseL4(d, o)
}

// isExt reports whether nh is a header that the walk passes. AH, ESP, mobility
// and no-next-header are final.
func isExt(nh uint8) bool {
	return nh == ProtoHopOpts || nh == ProtoRouting || nh == ProtoDstOpts || nh == ProtoFragment
}

// inFragment reports whether the headers now walked wait for reassembly.
func (m *Meta) inFragment() bool { return m.Flags&Fragment != 0 }

// extLen returns the length of the extension header nh at off, or 0 when it
// does not fit: by the wire the kernel drops the packet, by the snap length the
// capture cannot tell.
func (m *Meta) extLen(d []byte, nh uint8, off, end, wireEnd uint32) uint32 {
	n := uint32(fragLen)
	if nh != ProtoFragment && off+2 <= end {
		n = (uint32(d[off+1]) + 1) * 8
	}
	switch {
	case off+n > wireEnd && nh == ProtoHopOpts && off == m.L3+ip6Len:
		m.fail(mib.IPv6BadExthdr)
	case off+n > wireEnd && !m.inFragment():
		m.l4Fail(mib.IPv6BadExthdr)
	case off+n > wireEnd:
	case off+n > end:
		m.Flags |= L4Cut
		if !m.inFragment() {
			m.l4Fail(mib.PktTooSmall)
		}
	default:
		return n
	}
	return 0
}

// hopOpts judges a hop-by-hop header at offset at of the datagram: the first
// header before routing, any other is no protocol at all. The jumbo option
// gives the length of the datagram and excludes a payload length (plen).
func (m *Meta) hopOpts(h []byte, i int, at uint32, plen bool) {
	if i > 0 {
		if !m.inFragment() {
			m.l4Fail(mib.IPNoProto)
		}
		return
	}
	if !optsOK(h, true) {
		m.fail(mib.IPv6BadExthdr)
		return
	}
	j := findOpt(h, optJumbo)
	if j < 0 {
		return
	}
	n := uint64(binary.BigEndian.Uint32(h[j+2:])) + ip6Len
	switch {
	case (uint32(j)+at)&3 != 2, n <= 0xffff+ip6Len, plen:
		m.fail(mib.IPv6BadExthdr)
	case n > uint64(m.L3Len):
		m.fail(mib.PktTooSmall)
	default:
		m.L3Len = uint32(n)
	}
}

// routing follows ipv6_rthdr_rcv with Linux's defaults: segment routing and RPL
// are off, source routes of other types refused, a type 2 header is only for a
// home address. A header with no segment left is passed.
func (m *Meta) routing(h []byte) {
	if m.inFragment() {
		return
	}
	switch typ, left := h[2], h[3]; {
	case m.Daddr.Hi>>56 == 0xff || m.PktType != Host,
		typ == 2 || typ == 3 || typ == 4,
		left != 0:
		m.l4Fail(mib.IPv6BadExthdr)
	}
}

// fragment reads a fragment header (ipv6_frag_rcv). Of an atomic one only the
// record stays; a second header, or one without a payload length (a jumbogram),
// is an error.
func (m *Meta) fragment(h []byte, at uint32, plen bool) {
	if m.Flags&FragHdr != 0 || !plen {
		m.l4Fail(mib.IPv6BadExthdr)
		return
	}
	w := binary.BigEndian.Uint16(h[2:])
	m.Flags |= FragHdr
	m.FragAt = at
	m.FragID = binary.BigEndian.Uint32(h[4:])
	m.FragOff = uint32(w &^ 7)
	m.MoreFrags = w&1 != 0
	if w&^6 != 0 {
		m.Flags |= Fragment
	}
}

// IPv6 option types.
const (
	optPad1   = 0
	optPadN   = 1
	optAlert  = 5
	optJumbo  = 0xc2
	optCalip  = 7
	optIOAM   = 0x31
	maxTLV    = 8 // IP6_DEFAULT_MAX_HBH_OPTS_CNT and its twin for destination options
	maxPadLen = 7
)

// optsOK follows ip6_parse_tlv over a whole options header: padding of at most
// seven zero bytes, at most eight options, and of unknown ones only those whose
// type says to skip them. A home address needs an xfrm state, which is never
// there, so it counts as unknown.
func optsOK(h []byte, hop bool) bool {
	pad, count := 0, 0
	for o := h[2:]; len(o) > 0; {
		if o[0] == optPad1 {
			if pad++; pad > maxPadLen {
				return false
			}
			o = o[1:]
			continue
		}
		if len(o) < 2 || int(o[1])+2 > len(o) {
			return false
		}
		n := int(o[1]) + 2
		if o[0] == optPadN {
			if pad += n; pad > maxPadLen || !zero(o[2:n]) {
				return false
			}
		} else {
			if count++; count > maxTLV || !optOK(o[0], o[1], hop) {
				return false
			}
			pad = 0
		}
		o = o[n:]
	}
	return true
}

// optOK judges one option of type t and length n.
func optOK(t, n uint8, hop bool) bool {
	if hop {
		switch t {
		case optAlert:
			return n == 2
		case optJumbo:
			return n == 4
		case optIOAM, optCalip:
			return true
		}
	}
	return t>>6 == 0
}

func zero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// findOpt returns the offset of the first option of type t in the sound header
// h, or -1.
func findOpt(h []byte, t uint8) int {
	for i := 2; i < len(h); {
		switch h[i] {
		case t:
			return i
		case optPad1:
			i++
		default:
			i += int(h[i+1]) + 2
		}
	}
	return -1
}
