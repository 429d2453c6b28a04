package packet

import (
	"encoding/binary"
	"math/bits"

	"edemux/dataplane/mib"
)

// EtherTypes.
const (
	EtherIPv4   = 0x0800
	EtherARP    = 0x0806
	EtherVLAN   = 0x8100 // 802.1Q
	EtherIPv6   = 0x86dd
	EtherMPLS   = 0x8847
	EtherMPLSMC = 0x8848
	EtherPPPoED = 0x8863
	EtherPPPoES = 0x8864
	EtherQinQ   = 0x88a8 // 802.1ad
	EtherQinQ1  = 0x9100 // before 802.1ad

	etherMin = 0x0600 // below: an 802.3 length (ETH_P_802_3_MIN)
)

// ARPHRD_* values of the cooked link types.
const (
	arphrdLoopback = 772
	arphrdFRAD     = 770
	arphrdRadiotap = 803
	arphrdNetlink  = 824
)

// Header lengths of the link types.
const (
	ethLen  = 14
	sllLen  = 16
	sll2Len = 20
	nullLen = 4
	vlanLen = 4
)

// link is what stands before the IP header.
type link struct {
	proto    uint16 // EtherType; 0 with ip set: the version nibble decides
	off      int    // offset of the next header
	pkt      PktType
	loopback bool
	raw      bool // proto is to be taken from the version nibble
	short    bool // the frame ends inside the link header
	punt     mib.PuntWord
}

// read takes the link layer of f up to the first EtherType (VLAN tags not yet
// taken off). l is zero before.
func (l *link) read(f *Frame) {
	switch f.Link {
	case LinkEthernet:
		l.ethernet(f.Data)
	case LinkSLL:
		l.sll(f.Data)
	case LinkSLL2:
		l.sll2(f.Data)
	case LinkNull, LinkLoop:
		l.null(f.Data)
	case LinkRaw, LinkRawBSD, LinkRawOBSD:
		l.raw = true
	case LinkIPv4:
		l.proto = EtherIPv4
	case LinkIPv6:
		l.proto = EtherIPv6
	default:
		l.punt = mib.LinkType
	}
	if f.HasPktType && l.pkt != Outgoing {
		l.pkt = f.PktType
	}
}

// ethernet follows eth_type_trans; whether a unicast address is ours is for
// the caller to compare (DstMAC).
func (l *link) ethernet(d []byte) {
	if len(d) < ethLen {
		l.short = true
		return
	}
	l.off = ethLen
	l.proto = binary.BigEndian.Uint16(d[12:])
	l.pkt = macType(d)
	l.loopback = binary.LittleEndian.Uint64(d) == 0 && binary.LittleEndian.Uint32(d[8:]) == 0
}

// macType tells host, broadcast and multicast by the destination in d[:6].
func macType(d []byte) PktType {
	if d[0]&1 == 0 {
		return Host
	}
	if binary.BigEndian.Uint32(d) == 0xffffffff && binary.BigEndian.Uint16(d[4:]) == 0xffff {
		return Broadcast
	}
	return Multicast
}

func (l *link) sll(d []byte) {
	if len(d) < sllLen {
		l.short = true
		return
	}
	l.cooked(binary.BigEndian.Uint16(d), binary.BigEndian.Uint16(d[2:]), binary.BigEndian.Uint16(d[14:]))
	l.off = sllLen
}

func (l *link) sll2(d []byte) {
	if len(d) < sll2Len {
		l.short = true
		return
	}
	l.cooked(uint16(d[10]), binary.BigEndian.Uint16(d[8:]), binary.BigEndian.Uint16(d))
	l.off = sll2Len
}

// cooked takes the fields that SLL and SLL2 share. For netlink, radiotap and
// frame relay the protocol field is no EtherType.
func (l *link) cooked(pkt, arphrd, proto uint16) {
	l.proto = proto
	l.loopback = arphrd == arphrdLoopback
	if pkt <= uint16(Outgoing) {
		l.pkt = PktType(pkt)
	}
	switch arphrd {
	case arphrdNetlink, arphrdRadiotap, arphrdFRAD:
		l.punt = mib.NonIP
	}
}

// null reads the address family of BSD loopback. NULL holds it in the byte
// order of the capturing machine, LOOP in network order; no family needs more
// than 16 bits, which tells the order. AF_INET is 2 everywhere; AF_INET6 is 24
// on NetBSD and OpenBSD (and npcap), 28 on FreeBSD and DragonFly, 30 on Darwin,
// 10 on Linux, 23 on Windows.
func (l *link) null(d []byte) {
	l.loopback = true
	if len(d) < nullLen {
		l.short = true
		return
	}
	l.off = nullLen
	af := binary.BigEndian.Uint32(d)
	if af > 0xffff {
		af = bits.ReverseBytes32(af)
	}
	switch af {
	case 2:
		l.proto = EtherIPv4
	case 10, 23, 24, 28, 30:
		l.proto = EtherIPv6
	default:
		l.punt = mib.NonIP
	}
}

// isTag reports whether t announces a VLAN tag.
func isTag(t uint16) bool { return t == EtherVLAN || t == EtherQinQ || t == EtherQinQ1 }

// vlans takes every tag off l and notes the VIDs in m. The tag that the device
// has stripped comes first.
func (l *link) vlans(f *Frame, m *Meta) {
	m.VLANs, m.NVLAN = 0, 0
	if f.VLANStripped {
		m.pushVLAN(f.TCI)
	}
	for isTag(l.proto) && l.punt == mib.NotPunted {
		if len(f.Data) < l.off+vlanLen {
			l.short = true
			return
		}
		m.pushVLAN(binary.BigEndian.Uint16(f.Data[l.off:]))
		l.proto = binary.BigEndian.Uint16(f.Data[l.off+2:])
		l.off += vlanLen
	}
}

func (m *Meta) pushVLAN(tci uint16) {
	if m.NVLAN < 4 {
		m.VLANs |= uint64(tci&0xfff) << (16 * m.NVLAN)
	}
	if m.NVLAN < 255 {
		m.NVLAN++
	}
}

// VLANStack appends the VID of every tag of f to buf, outermost first.
func VLANStack(f *Frame, buf []uint16) []uint16 {
	if f.VLANStripped {
		buf = append(buf, f.TCI&0xfff)
	}
	var l link
	l.read(f)
	if l.punt != mib.NotPunted || l.short {
		return buf
	}
	for isTag(l.proto) && len(f.Data) >= l.off+vlanLen {
		buf = append(buf, binary.BigEndian.Uint16(f.Data[l.off:])&0xfff)
		l.proto = binary.BigEndian.Uint16(f.Data[l.off+2:])
		l.off += vlanLen
	}
	return buf
}

// puntOf is the word for an EtherType that is neither IP nor a tag.
func puntOf(t uint16) mib.PuntWord {
	switch {
	case t < etherMin:
		return mib.LLC
	case t == EtherARP:
		return mib.ARP
	case t == EtherMPLS || t == EtherMPLSMC:
		return mib.MPLS
	case t == EtherPPPoED || t == EtherPPPoES:
		return mib.PPPoE
	}
	return mib.NonIP
}

// DstMAC returns the destination address of an Ethernet frame as a 48-bit
// number; ok is false for other link types and short frames.
func DstMAC(f *Frame) (mac uint64, ok bool) {
	if f.Link != LinkEthernet || len(f.Data) < ethLen {
		return 0, false
	}
	return binary.BigEndian.Uint64(f.Data) >> 16, true
}

// SrcMAC returns the source address of an Ethernet frame, or of a cooked one
// whose link-layer address has six bytes.
func SrcMAC(f *Frame) (mac uint64, ok bool) {
	d := f.Data
	switch {
	case f.Link == LinkEthernet && len(d) >= ethLen:
		return binary.BigEndian.Uint64(d[6:]) >> 16, true
	case f.Link == LinkSLL && len(d) >= sllLen && binary.BigEndian.Uint16(d[4:]) == 6:
		return binary.BigEndian.Uint64(d[6:]) >> 16, true
	case f.Link == LinkSLL2 && len(d) >= sll2Len && d[11] == 6:
		return binary.BigEndian.Uint64(d[12:]) >> 16, true
	}
	return 0, false
}
