package packet

import (
	"encoding/binary"

	"edemux/dataplane/mib"
	"edemux/flowtable"
)

// parseIPv4 follows ip_rcv_core for the header at d[l3]. wire is the length of
// the whole frame, so wire-l3 is the kernel's skb->len. A header cut by the
// snap length is PKT_TOO_SMALL, never IP_INHDR: the wire held it.
func parseIPv4(d []byte, l3 int, wire uint32, o *Options, m *Meta) {
	b := d[l3:]
	n := wire - uint32(l3)
	m.L3 = uint32(l3)
	m.IPVer = 4
	if len(b) > 0 && (b[0]>>4 != 4 || b[0]&15 < ip4Len/4) {
		m.fail(mib.IPInHdr)
		return
	}
	if n < ip4Len {
		m.fail(mib.IPInHdr)
	}
	if len(b) < ip4Len {
		m.partIPv4(b)
		m.fail(mib.PktTooSmall)
		m.Flags |= L4Short
		if uint32(len(b)) < n {
			m.Flags |= L4Cut
		}
		return
	}
	h := (*[ip4Len]byte)(b)
	m.Flags |= HasTuple | HasSaddr | HasProto
	m.TOS, m.TTL, m.Proto, m.NextHdr = h[1], h[8], h[9], h[9]
	m.Saddr = flowtable.V4(binary.BigEndian.Uint32(h[12:16]))
	m.Daddr = flowtable.V4(binary.BigEndian.Uint32(h[16:20]))
	ihl := int(h[0]&15) * 4
	if ihl > ip4Len {
		m.Flags |= IPOptions
	}
	m.fragIPv4(h)
	m.lengthIPv4(b, ihl, n, o)
	if ihl > ip4Len && m.Reason == mib.NotDropped {
		if !optionsOK(b[ip4Len:min(ihl, len(b))], ihl-ip4Len) {
			m.l4Fail(mib.IPInHdr)
		}
	}
	m.L4 = m.L3 + uint32(ihl)
	m.L4Len = m.L3Len - min(uint32(ihl), m.L3Len)
	m.parseL4(d, o)
}

// partIPv4 takes what there is of a header with fewer than 20 bytes.
func (m *Meta) partIPv4(b []byte) {
	if len(b) > 1 {
		m.TOS = b[1]
	}
	if len(b) > 9 {
		m.TTL, m.Proto, m.NextHdr = b[8], b[9], b[9]
		m.Flags |= HasProto
	}
	if len(b) >= 16 {
		m.Saddr = flowtable.V4(binary.BigEndian.Uint32(b[12:]))
		m.Flags |= HasSaddr
	}
}

func (m *Meta) fragIPv4(h *[ip4Len]byte) {
	w := binary.BigEndian.Uint16(h[6:8])
	if w&0x3fff == 0 {
		return
	}
	m.Flags |= Fragment
	m.FragOff = uint32(w&0x1fff) * 8
	m.MoreFrags = w&0x2000 != 0
	m.FragID = uint32(binary.BigEndian.Uint16(h[4:6]))
}

// lengthIPv4 makes the checks of ip_rcv_core that follow the version: header
// length, checksum, total length. It sets L3Len to the trimmed length.
func (m *Meta) lengthIPv4(b []byte, ihl int, n uint32, o *Options) {
	switch {
	case n < uint32(ihl):
		m.fail(mib.IPInHdr)
	case len(b) < ihl:
		m.Flags |= L4Cut | L4Short
		m.fail(mib.PktTooSmall)
	case o.VerifyIP && !headerOK(b[:ihl]):
		m.fail(mib.IPCsum)
	}
	tot := uint32(binary.BigEndian.Uint16(b[2:4]))
	m.L3Len = tot
	switch {
	case n > 0xffff, tot == 0 && m.Proto == ProtoTCP && n > mtu:
		// iph_totlen: a GSO frame over 64 KB has total length 0.
		m.L3Len = n
		m.Flags |= SuperFrame
	case n < tot:
		m.fail(mib.PktTooSmall)
		m.L3Len = n
	case tot < uint32(ihl):
		m.fail(mib.IPInHdr)
		m.L3Len = n
	}
}

// IPv4 option types.
const (
	optEnd  = 0
	optNop  = 1
	optRR   = 7
	optRA   = 148
	optTS   = 68
	optSSRR = 137
	optLSRR = 131
)

// optionsOK follows ip_options_compile for a received packet, in the walk
// after routing (ip_rcv_options). n is the length of the options on the wire;
// o holds the captured ones, and what is not there is not judged. Source
// routes are refused as with accept_source_route 0, Linux's default.
func optionsOK(o []byte, n int) bool {
	rr, ts := false, false
	for i := 0; i < len(o); {
		switch o[i] {
		case optEnd:
			return true
		case optNop:
			i++
			continue
		}
		if n-i < 2 {
			return false
		}
		if len(o)-i < 2 {
			return true
		}
		l := int(o[i+1])
		if l < 2 || l > n-i {
			return false
		}
		if i+l > len(o) {
			return true
		}
		v := o[i : i+l]
		switch o[i] {
		case optSSRR, optLSRR:
			return false
		case optRR:
			if rr || !rrOK(v) {
				return false
			}
			rr = true
		case optTS:
			if ts || !tsOK(v) {
				return false
			}
			ts = true
		case optRA:
			if l < 4 {
				return false
			}
		}
		i += l
	}
	return true
}

// rrOK checks a record-route option: length, pointer, and room for an address
// unless it is full.
func rrOK(v []byte) bool {
	if len(v) < 3 || v[2] < 4 {
		return false
	}
	return int(v[2]) > len(v) || int(v[2])+3 <= len(v)
}

// tsOK checks a timestamp option. A full one must not overflow its counter.
func tsOK(v []byte) bool {
	if len(v) < 4 || v[2] < 5 {
		return false
	}
	p, flag := int(v[2]), v[3]&15
	if p > len(v) {
		return flag == 3 || v[3]>>4 != 15
	}
	if p+3 > len(v) {
		return false
	}
	if flag == 1 || flag == 3 {
		return p+7 <= len(v)
	}
	return true
}
