package capture

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"edemux/dataplane/packet"
)

const (
	pcapFileHeader = 24
	pcapRecord     = 16
	pcapRecordKuz  = 24 // Kuznetzov's: + ifindex, protocol, packet type, padding
)

// How the two lengths of a record lie: versions before 2.3 wrote the length on
// the wire first, 2.3 was written either way.
const (
	lensCapFirst = iota
	lensWireFirst
	lensEither
)

// pcapFormat is what the file header says.
type pcapFormat struct {
	big     bool  // byte order of the writer
	record  uint8 // length of a record header
	lens    uint8
	unknown bool // the link type is not one that a parser knows
	link    uint16
	unit    int64 // ns per unit of the fraction
}

// pcapMagic recognises the first four bytes of a pcap file.
func pcapMagic(m [4]byte) (pcapFormat, bool) {
	v, big := binary.LittleEndian.Uint32(m[:]), false
	for range 2 {
		switch v {
		case 0xa1b2c3d4:
			return pcapFormat{big: big, record: pcapRecord, unit: 1000}, true
		case 0xa1b23c4d:
			return pcapFormat{big: big, record: pcapRecord, unit: 1}, true
		case 0xa1b2cd34:
			return pcapFormat{big: big, record: pcapRecordKuz, unit: 1000}, true
		}
		v, big = bits.ReverseBytes32(v), true
	}
	return pcapFormat{}, false
}

// order is the byte order of a writer. Both are structs without fields, so the
// interface costs no allocation; per-frame code uses get32 instead.
func order(big bool) binary.ByteOrder {
	if big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func get32(b []byte, big bool) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func get16(b []byte, big bool) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

// linkType takes the link type out of the network field: the upper bits hold
// the length of the frame check sequence and its flag, those between are a
// class that no common link type has.
func linkType(network uint32) uint16 {
	if network&0x03ff0000 != 0 {
		return linkNone
	}
	return uint16(network)
}

func (r *Reader) beginPcap(p pcapFormat) error {
	if !r.s.need(pcapFileHeader) {
		return r.notCapture(fmt.Sprintf("pcap file header cut after %d of %d bytes", r.s.avail(), pcapFileHeader))
	}
	major, minor := get16(r.s.buf[4:], p.big), get16(r.s.buf[6:], p.big)
	if major < 2 || major > 2 && major != 543 {
		return r.notCapture(fmt.Sprintf("pcap version %d.%d is not supported", major, minor))
	}
	h := r.s.take(pcapFileHeader)
	switch {
	case major == 543 || minor < 3: // 543.0 was written by an old AIX or DG/UX libpcap
		p.lens = lensWireFirst
	case minor == 3:
		p.lens = lensEither
	}
	p.link = linkType(get32(h[20:], p.big))
	p.unknown = !knownLink(p.link)
	r.pcap = p
	_, err := r.addInterface(Interface{LinkType: p.link})
	return err
}

// nextPcap reads one record.
func (r *Reader) nextPcap(f *packet.Frame) error {
	p, s := &r.pcap, &r.s
	hl := int(p.record)
	r.start = s.offset()
	if !s.need(hl) {
		if s.avail() == 0 {
			return r.stop("")
		}
		return r.stop(fmt.Sprintf("record header cut after %d of %d bytes", s.avail(), hl))
	}
	h := s.buf[s.r : s.r+pcapRecord]
	sec, frac := get32(h, p.big), get32(h[4:], p.big)
	caplen, wire := get32(h[8:], p.big), get32(h[12:], p.big)
	if p.lens != lensCapFirst && (p.lens == lensWireFirst || caplen > wire) {
		caplen, wire = wire, caplen
	}
	if caplen > MaxRecord {
		return r.damage(fmt.Sprintf("record of %d bytes, over the limit of %d", caplen, MaxRecord))
	}
	n := hl + int(caplen)
	if !s.need(n) {
		return r.stop(fmt.Sprintf("record cut after %d of %d bytes", s.avail(), n))
	}
	*f = packet.Frame{
		Data:    s.take(n)[hl:],
		TS:      int64(sec)*1e9 + int64(frac)*p.unit,
		WireLen: max(wire, caplen),
		Link:    p.link,
	}
	r.frames++
	if p.unknown {
		r.warnLink(p.link)
	}
	return nil
}
