package reasm

import (
	"encoding/binary"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
)

// ecnFail marks a mix of ECN values that no path makes.
const ecnFail = 0xff

// ecnTable is ip_frag_ecn_table: what the datagram's ECN bits get, by the set
// of values seen (bit 0 Not-ECT, bit 1 ECT(1), bit 2 ECT(0), bit 3 CE). CE
// beside ECT makes CE; Not-ECT does not mix.
var ecnTable = [16]uint8{
	3: ecnFail, 5: ecnFail, 7: ecnFail, 9: ecnFail, 11: ecnFail, 13: ecnFail, 15: ecnFail,
	10: 3, 12: 3, 14: 3,
}

// assemble copies the whole datagram of the unlinked queue i into buf:
// ip_frag_reasm and ip6_frag_reasm. The header is the first fragment's, made
// that of an unfragmented datagram. Behind bytes that a capture lacks nothing
// is copied, so what is there is a true beginning.
func (f *family) assemble(i uint32, buf *Buffer, r *Result) {
	q := f.at(i)
	head := f.frag(q.head)
	hdr := head.hdr
	if f.v6() {
		hdr -= 8
	}
	total := hdr + q.len
	ecn := ecnTable[q.ecn&15]
	if ecn == ecnFail || f.tooLong(total) {
		r.Failed++
		r.drop(mib.FragReasmFail)
		return
	}
	if cap(buf.bytes) < maxDatagram {
		buf.bytes = make([]byte, maxDatagram)
	}
	d := buf.bytes[:maxDatagram]
	f.load(d, q.head, head.hdr+head.have)
	if f.v6() {
		header6(d, head.hdr, head.have, total, ecn)
	} else {
		header4(d[:hdr], total, ecn)
	}
	n := hdr + head.have
	for p := head; p.have == p.len && p.next != 0; {
		j := p.next
		p = f.frag(j)
		f.load(d[n:], j, p.have)
		n += p.have
	}
	buf.Meta = packet.Meta{PktType: q.pkt, VLANs: q.vlans, NVLAN: q.nvlan, Flags: q.link}
	r.Outcome, r.Datagram, r.WireLen = Complete, d[:n], total
}

// maxDatagram is the longest IPv6 datagram without jumbo option; IPv4's is
// shorter. The fragment header is in the buffer for a moment.
const maxDatagram = 0xffff + 40 + 8

func (f *family) v6() bool { return f.timeout == Timeout6 }

func (f *family) tooLong(total uint32) bool {
	if f.v6() {
		return total > 0xffff+40
	}
	return total > 0xffff
}

// header4 rewrites the header h: length, no fragment, ECN, checksum.
func header4(h []byte, total uint32, ecn uint8) {
	binary.BigEndian.PutUint16(h[2:], uint16(total))
	binary.BigEndian.PutUint16(h[6:], 0)
	h[1] |= ecn
	binary.BigEndian.PutUint16(h[10:], 0)
	binary.BigEndian.PutUint16(h[10:], packet.Fold(packet.Sum(0, h)))
}

// header6 takes the fragment header, the last eight of n header bytes, out of
// d, which holds have bytes behind it, and names what follows it in the header
// before.
func header6(d []byte, n, have, total uint32, ecn uint8) {
	at := n - 8
	next := d[at]
	nh := uint32(6)
	for off := uint32(40); off < at; off += (uint32(d[off+1]) + 1) * 8 {
		nh = off
	}
	d[nh] = next
	binary.BigEndian.PutUint16(d[4:], uint16(total-40))
	d[1] |= ecn << 4
	copy(d[at:], d[n:n+have])
}
