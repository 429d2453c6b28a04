package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"edemux/dataplane/packet"
)

// ErrTooLong says that a frame has more than MaxRecord bytes, which no reader
// would take.
var ErrTooLong = errors.New("frame of more than 262144 bytes")

// out is a buffered little-endian output whose first error stays.
type out struct {
	w   *bufio.Writer
	b   []byte // the block under construction
	err error
}

func newOut(w io.Writer) out { return out{w: bufio.NewWriterSize(w, 64<<10)} }

func (o *out) u16(v uint16) { o.b = binary.LittleEndian.AppendUint16(o.b, v) }
func (o *out) u32(v uint32) { o.b = binary.LittleEndian.AppendUint32(o.b, v) }

func (o *out) padded(p []byte) {
	o.b = append(o.b, p...)
	o.pad()
}

func (o *out) pad() {
	for len(o.b)&3 != 0 {
		o.b = append(o.b, 0)
	}
}

func (o *out) flushBlock() error {
	if o.err == nil {
		_, o.err = o.w.Write(o.b)
	}
	o.b = o.b[:0]
	return o.err
}

// Flush hands everything written so far to the underlying writer.
func (o *out) Flush() error {
	if o.err == nil {
		o.err = o.w.Flush()
	}
	return o.err
}

// PcapWriter writes a classic pcap file: one link type, times in ns. It belongs
// to one goroutine; the underlying writer stays the caller's.
type PcapWriter struct {
	out
	link uint16
}

// NewPcapWriter writes the file header for frames of one link type.
func NewPcapWriter(w io.Writer, link uint16) (*PcapWriter, error) {
	p := &PcapWriter{newOut(w), link}
	p.u32(0xa1b23c4d)
	p.u16(2)
	p.u16(4)
	p.u32(0)
	p.u32(0)
	p.u32(MaxRecord)
	p.u32(uint32(link))
	return p, p.flushBlock()
}

// Write appends a frame. Times outside 1970 to 2106 are held to these bounds,
// which the format sets. It allocates nothing.
func (p *PcapWriter) Write(f *packet.Frame) error {
	if f.Link != p.link {
		return fmt.Errorf("write capture: frame of link type %d in a pcap file of link type %d", f.Link, p.link)
	}
	if len(f.Data) > MaxRecord {
		return ErrTooLong
	}
	ts := min(max(f.TS, 0), (1<<32-1)*second+second-1)
	p.u32(uint32(ts / second))
	p.u32(uint32(ts % second))
	p.u32(uint32(len(f.Data)))
	p.u32(max(f.WireLen, uint32(len(f.Data))))
	p.b = append(p.b, f.Data...)
	return p.flushBlock()
}

// NGWriter writes a pcapng file of one section with any number of interfaces,
// times in ns. It belongs to one goroutine; the underlying writer stays the
// caller's.
type NGWriter struct {
	out
	ids map[Interface]int // ID is 0 in the keys
}

// NewNGWriter writes the section header. app names the program that writes.
func NewNGWriter(w io.Writer, app string) (*NGWriter, error) {
	p := &NGWriter{newOut(w), make(map[Interface]int)}
	p.open(blockSHB)
	p.u32(orderMagic)
	p.u16(1)
	p.u16(0)
	p.u32(0xffffffff) // section length: not known
	p.u32(0xffffffff)
	p.option(shbUserAppl, app)
	p.endOptions()
	return p, p.close()
}

func (p *NGWriter) open(typ uint32) {
	p.u32(typ)
	p.u32(0)
}

func (p *NGWriter) close() error {
	n := uint32(len(p.b) + 4)
	binary.LittleEndian.PutUint32(p.b[4:], n)
	p.u32(n)
	return p.flushBlock()
}

// option appends a text option, cut to the 65,535 bytes that its length can
// tell without splitting a character; an empty one is left out.
func (p *NGWriter) option(code uint16, text string) {
	if text == "" {
		return
	}
	if len(text) > 0xffff {
		n := 0xffff
		for n > 0xffff-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	p.u16(code)
	p.u16(uint16(len(text)))
	p.b = append(p.b, text...)
	p.pad()
}

func (p *NGWriter) option32(code uint16, v uint32) {
	p.u16(code)
	p.u16(4)
	p.u32(v)
}

func (p *NGWriter) endOptions() { p.u32(optEnd) }

// Interface gives the number of the interface with that name (may be empty) and
// link type, describing it in the file when it is new.
func (p *NGWriter) Interface(name string, link uint16) (int, error) {
	key := Interface{Name: name, LinkType: link}
	if id, ok := p.ids[key]; ok {
		return id, p.err
	}
	id := len(p.ids)
	p.ids[key] = id
	p.open(blockIDB)
	p.u16(link)
	p.u16(0)
	p.u32(MaxRecord)
	p.option(ifName, name)
	p.u16(ifTsresol)
	p.u16(1)
	p.u32(9) // one byte and its padding
	p.endOptions()
	return id, p.close()
}

// Write appends a frame of an interface, with a comment unless it is empty. What
// the frame knows of direction, reception type and queue is kept. Times before
// 1970 become 1970, as the format has no sign. It allocates nothing once the
// largest frame has been seen.
func (p *NGWriter) Write(iface int, f *packet.Frame, comment string) error {
	if iface < 0 || iface >= len(p.ids) {
		return fmt.Errorf("write capture: interface %d is not described", iface)
	}
	if len(f.Data) > MaxRecord {
		return ErrTooLong
	}
	ts := uint64(max(f.TS, 0))
	p.open(blockEPB)
	p.u32(uint32(iface))
	p.u32(uint32(ts >> 32))
	p.u32(uint32(ts))
	p.u32(uint32(len(f.Data)))
	p.u32(max(f.WireLen, uint32(len(f.Data))))
	p.padded(f.Data)
	p.packetOptions(f, comment)
	return p.close()
}

func (p *NGWriter) packetOptions(f *packet.Frame, comment string) {
	at := len(p.b)
	p.option(optComment, comment)
	if v := flagsOf(f); v != 0 {
		p.option32(epbFlags, v)
	}
	if f.HasQueue {
		p.option32(epbQueue, uint32(f.CPU))
	}
	if len(p.b) > at {
		p.endOptions()
	}
}

// flagsOf is setFlags the other way.
func flagsOf(f *packet.Frame) (v uint32) {
	switch f.Dir {
	case packet.DirIn:
		v = 1
	case packet.DirOut:
		v = 2
	}
	if !f.HasPktType {
		return v
	}
	switch f.PktType {
	case packet.Host:
		v |= 1 << 2
	case packet.Multicast:
		v |= 2 << 2
	case packet.Broadcast:
		v |= 3 << 2
	case packet.OtherHost:
		v |= 4 << 2
	}
	return v
}
