package judge

import (
	"encoding/binary"

	"edemux/dataplane/packet"
	"edemux/demux"
)

// ethLen is the length of an Ethernet header without tags.
const ethLen = 14

// wireFrame is an IP frame as a device without VLANs takes it: an Ethernet
// header whose destination makes the host see the packet type that the capture
// shows, then everything from the IP header on, zeros for what the capture
// cut off. With anyMAC unicast goes to mac, whatever the frame says.
func wireFrame(f *packet.Frame, m *packet.Meta, mac [6]byte, anyMAC bool) []byte {
	l3 := int(min(m.L3, uint32(len(f.Data))))
	n := max(int(f.WireLen), len(f.Data)) - l3
	b := make([]byte, ethLen+n)
	copy(b[ethLen:], f.Data[l3:])
	copy(b[6:], []byte{2, 0xed, 0, 1, 0, 1})
	ether := f.Link == packet.LinkEthernet && len(f.Data) >= ethLen
	if ether {
		copy(b, f.Data[:12])
	}
	switch {
	case m.PktType == packet.Host && (anyMAC || !ether):
		copy(b, mac[:])
	case ether:
	case m.PktType == packet.Broadcast:
		copy(b, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	case m.PktType == packet.Multicast:
		copy(b, []byte{1, 0, 0x5e, 0x7f, 0, 1})
	default:
		copy(b, []byte{2, 0xed, 0, 3, 0, 3})
	}
	typ := uint16(packet.EtherIPv4)
	if m.IPVer == 6 {
		typ = packet.EtherIPv6
	}
	binary.BigEndian.PutUint16(b[12:], typ)
	return b
}

// mend makes the checksums of a wireFrame right where they are not trusted to
// be. Fragments keep theirs: their transport checksum is over all of them.
func mend(b []byte, m *packet.Meta, ip, l4 bool) {
	be := binary.BigEndian
	if !m.Has(packet.HasTuple) {
		return
	}
	head := int(m.L4 - m.L3)
	if ip && m.IPVer == 4 && head >= 20 && ethLen+head <= len(b) {
		h := b[ethLen : ethLen+head]
		h[10], h[11] = 0, 0
		be.PutUint16(h[10:], packet.Fold(packet.Sum(0, h)))
	}
	at := ethLen + head
	end := at + int(m.L4Len)
	if !l4 || m.Has(packet.Fragment) || end > len(b) {
		return
	}
	t := b[at:end]
	switch {
	case m.Proto == demux.TCP && len(t) >= 20:
		sum(t, 16, packet.PseudoSum(m.Saddr, m.Daddr, m.Proto, uint32(len(t))))
	case m.Proto == demux.UDP && len(t) >= 8 && be.Uint16(t[6:]) != 0:
		if n := int(be.Uint16(t[4:])); n >= 8 && n <= len(t) {
			t = t[:n]
		}
		sum(t, 6, packet.PseudoSum(m.Saddr, m.Daddr, m.Proto, uint32(len(t))))
		if be.Uint16(t[6:]) == 0 {
			be.PutUint16(t[6:], 0xffff)
		}
	}
}

// sum makes the checksum at an offset of t.
func sum(t []byte, at int, acc uint64) {
	t[at], t[at+1] = 0, 0
	binary.BigEndian.PutUint16(t[at:], packet.Fold(packet.Sum(acc, t)))
}
