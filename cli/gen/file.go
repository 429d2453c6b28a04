package gen

import (
	"encoding/binary"
	"io"
	"strconv"
)

var le = binary.LittleEndian

const (
	second  = 1_000_000_000
	snapLen = 262144
	buffer  = 1 << 20
)

// file is the capture around the frames: pcap or pcapng, little endian on
// every machine. Frames are built in place in its buffer.
type file struct {
	w    io.Writer // nil: frames stay in buf, for Frames
	buf  []byte
	mark int // where the record under construction begins
	p    *plan

	sec, nsec    uint64 // time of the next frame
	each, rest   uint64 // ns between frames: whole, and the remainder in 1/rate
	carry        uint64
	err          error
	frames       int64
	frameOffsets []int // w nil: where frames begin
}

func newFile(w io.Writer, p *plan) *file {
	f := &file{
		w: w, p: p, buf: make([]byte, 0, buffer+2*maxFrame),
		sec: uint64(p.Start) / second, nsec: uint64(p.Start) % second,
		each: second / p.Rate, rest: second % p.Rate,
	}
	switch {
	case w == nil:
	case p.ng:
		f.headerNG()
	default:
		f.header()
	}
	return f
}

func (f *file) u16(v uint16) { f.buf = le.AppendUint16(f.buf, v) }
func (f *file) u32(v uint32) { f.buf = le.AppendUint32(f.buf, v) }

func (f *file) header() {
	magic := uint32(0xa1b23c4d)
	if f.p.micros {
		magic = 0xa1b2c3d4
	}
	f.u32(magic)
	f.u16(2)
	f.u16(4)
	f.u32(0)
	f.u32(0)
	f.u32(snapLen)
	f.u32(uint32(linkTypes[f.p.link]))
}

// headerNG writes the section header and one description per interface.
func (f *file) headerNG() {
	f.u32(0x0a0d0d0a)
	f.u32(28)
	f.u32(0x1a2b3c4d)
	f.u16(1)
	f.u16(0)
	f.u32(0xffffffff)
	f.u32(0xffffffff)
	f.u32(28)
	for i := range f.p.Interfaces {
		at := len(f.buf)
		f.u32(1)
		f.u32(0)
		f.u16(linkTypes[f.p.link])
		f.u16(0)
		f.u32(snapLen)
		name := "port" + strconv.Itoa(i)
		f.u16(2) // if_name
		f.u16(uint16(len(name)))
		f.buf = append(f.buf, name...)
		f.pad(at)
		f.u16(9) // if_tsresol
		f.u16(1)
		if f.p.micros {
			f.u32(6)
		} else {
			f.u32(9)
		}
		f.u32(0)
		f.closeBlock(at)
	}
}

func (f *file) pad(from int) {
	for (len(f.buf)-from)&3 != 0 {
		f.buf = append(f.buf, 0)
	}
}

func (f *file) closeBlock(at int) {
	n := uint32(len(f.buf) - at + 4)
	le.PutUint32(f.buf[at+4:], n)
	f.u32(n)
}

// recordHead is the room for what stands before the bytes of a frame.
func (f *file) recordHead() int {
	switch {
	case f.w == nil:
		return 0
	case f.p.ng:
		return 28
	}
	return 16
}

// begin makes room for the record of a frame; its bytes are then appended to buf.
func (f *file) begin() {
	f.mark = len(f.buf)
	f.buf, _ = grow(f.buf, f.recordHead())
}

// end completes the record of a frame of flow s and moves the clock.
func (f *file) end(s *segment) {
	f.frames++
	if f.w == nil {
		f.frameOffsets = append(f.frameOffsets, f.mark)
		return
	}
	n := uint32(len(f.buf) - f.mark - f.recordHead())
	h := f.buf[f.mark:]
	frac := f.nsec
	if f.p.micros {
		frac /= 1000
	}
	if f.p.ng {
		unit := uint64(second)
		if f.p.micros {
			unit = 1_000_000
		}
		ts := f.sec*unit + frac
		le.PutUint32(h, 6)
		le.PutUint32(h[8:], uint32(s.flow%uint64(f.p.Interfaces)))
		le.PutUint32(h[12:], uint32(ts>>32))
		le.PutUint32(h[16:], uint32(ts))
		le.PutUint32(h[20:], n)
		le.PutUint32(h[24:], n)
		f.pad(f.mark)
		f.u16(2) // epb_flags
		f.u16(4)
		f.u32(epbFlags(s))
		f.u32(0)
		f.closeBlock(f.mark)
	} else {
		le.PutUint32(h, uint32(f.sec))
		le.PutUint32(h[4:], uint32(frac))
		le.PutUint32(h[8:], n)
		le.PutUint32(h[12:], n)
	}
	f.tick()
	if len(f.buf) >= buffer {
		f.flush()
	}
}

// epbFlags: direction in the low two bits, kind of reception above.
func epbFlags(s *segment) uint32 {
	switch {
	case s.out:
		return 2
	case s.multicast:
		return 1 | 2<<2
	}
	return 1 | 1<<2
}

// tick adds 1/rate seconds; the fractions of a nanosecond are not lost.
func (f *file) tick() {
	f.nsec += f.each
	if f.carry += f.rest; f.carry >= f.p.Rate {
		f.carry -= f.p.Rate
		f.nsec++
	}
	if f.nsec >= second {
		f.nsec -= second
		f.sec++
	}
}

func (f *file) flush() {
	if f.err == nil && f.w != nil {
		_, f.err = f.w.Write(f.buf)
		f.buf = f.buf[:0]
	}
}
