package capture

import (
	"fmt"

	"edemux/dataplane/packet"
)

// Block types. All others are skipped.
const (
	blockSHB = 0x0a0d0d0a // the same bytes in both orders
	blockIDB = 1
	blockPB  = 2 // obsolete
	blockSPB = 3
	blockEPB = 6
)

const (
	orderMagic    = 0x1a2b3c4d
	maxInterfaces = 4096 // distinct ones of a file, and those of a section
)

// section is what the current pcapng section says.
type section struct {
	big    bool
	ifaces []ngInterface
}

// ngInterface is an interface as the packet blocks of its section need it.
type ngInterface struct {
	global  int // index in Reader.ifaces
	link    uint16
	unknown bool
	snaplen uint32 // 0: no limit
	res     resolution
}

func (r *Reader) beginNG() error {
	r.ng.ifaces = r.ng.ifaces[:0]
	if !r.s.need(28) {
		return r.notCapture(fmt.Sprintf("pcapng section header cut after %d of 28 bytes", r.s.avail()))
	}
	switch b := r.s.buf; {
	case get32(b[8:], false) != orderMagic && get32(b[8:], true) != orderMagic:
		return r.notCapture("pcapng section header without byte-order magic")
	default:
		if v := get16(b[12:], get32(b[8:], true) == orderMagic); v != 1 {
			return r.notCapture(fmt.Sprintf("pcapng version %d is not supported", v))
		}
	}
	r.lookAhead()
	return nil
}

// lookAhead finds out whether the capture has several interfaces, as far as the
// first buffer tells: the names of ports depend on it, and writers describe an
// interface as late as before its first packet. It waits for a full buffer so
// that a pipe gives the same names as a file.
func (r *Reader) lookAhead() {
	r.s.need(bufStart)
	b, big, n := r.s.buf[:r.s.w], false, 0
	for len(b) >= 12 {
		typ := get32(b, big)
		if typ == blockSHB {
			big, n = get32(b[8:], true) == orderMagic, 0
		}
		if typ == blockIDB {
			n++
		}
		r.several = r.several || n > 1
		total := get32(b[4:], big)
		if total < 12 || uint64(total) >= uint64(len(b)) {
			return
		}
		b = b[total:]
	}
}

// nextNG reads blocks up to and including the next packet.
func (r *Reader) nextNG(f *packet.Frame) error {
	s := &r.s
	for {
		r.start = s.offset()
		if !s.need(12) {
			if s.avail() == 0 {
				return r.stop("")
			}
			return r.stop(fmt.Sprintf("block header cut after %d bytes", s.avail()))
		}
		typ := get32(s.buf[s.r:], r.ng.big)
		if typ == blockSHB {
			if err := r.readSHB(); err != nil {
				return err
			}
			continue
		}
		total := get32(s.buf[s.r+4:], r.ng.big)
		if total < 12 || total%4 != 0 {
			return r.damage(fmt.Sprintf("block of type %#x with impossible length %d", typ, total))
		}
		var err error
		switch typ {
		case blockEPB, blockPB:
			return r.readEPB(f, total, typ)
		case blockSPB:
			return r.readSPB(f, total)
		case blockIDB:
			err = r.readIDB(total)
		default:
			err = r.skipBlock(total)
		}
		if err != nil {
			return err
		}
	}
}

// readSHB begins a section. Its options are of no use here and are skipped, and
// its length is ignored as many writers do not know it.
func (r *Reader) readSHB() error {
	if !r.s.need(16) {
		return r.stop(fmt.Sprintf("section header cut after %d bytes", r.s.avail()))
	}
	b := r.s.buf[r.s.r:r.s.w]
	switch uint32(orderMagic) {
	case get32(b[8:], false):
		r.ng.big = false
	case get32(b[8:], true):
		r.ng.big = true
	default:
		return r.damage("section header without byte-order magic")
	}
	total := get32(b[4:], r.ng.big)
	if total < 28 || total%4 != 0 {
		return r.damage(fmt.Sprintf("section header with impossible length %d", total))
	}
	if v := get16(b[12:], r.ng.big); v != 1 {
		return r.damage(fmt.Sprintf("section of pcapng version %d, which is not supported", v))
	}
	r.ng.ifaces = r.ng.ifaces[:0]
	return r.skipBlock(total)
}

// skipBlock passes over a block of any length without holding it.
func (r *Reader) skipBlock(total uint32) error {
	if !r.s.skip(int64(total)-4) || !r.s.need(4) {
		return r.stop(fmt.Sprintf("block of %d bytes cut", total))
	}
	return r.checkTotals(total, get32(r.s.take(4), r.ng.big))
}

func (r *Reader) checkTotals(first, second uint32) error {
	if first != second {
		return r.damage(fmt.Sprintf("block whose lengths differ: %d at its start, %d at its end", first, second))
	}
	return nil
}

// block consumes a whole block and returns what lies between its two lengths.
func (r *Reader) block(total uint32) ([]byte, error) {
	if total > bufMax {
		return nil, r.damage(fmt.Sprintf("block of %d bytes, over the limit of %d", total, bufMax))
	}
	if !r.s.need(int(total)) {
		return nil, r.stop(fmt.Sprintf("block cut after %d of %d bytes", r.s.avail(), total))
	}
	b := r.s.take(int(total))
	if err := r.checkTotals(total, get32(b[total-4:], r.ng.big)); err != nil {
		return nil, err
	}
	return b[8 : total-4], nil
}

// readIDB takes up an interface description.
func (r *Reader) readIDB(total uint32) error {
	if total < 20 {
		return r.damage(fmt.Sprintf("interface description with impossible length %d", total))
	}
	b, err := r.block(total)
	if err != nil {
		return err
	}
	big, id := r.ng.big, len(r.ng.ifaces)
	n := ngInterface{link: get16(b, big), snaplen: get32(b[4:], big), res: micro}
	n.unknown = !knownLink(n.link)
	name := n.options(b[8:], big)
	if len(name) > 255 {
		name = name[:255]
	}
	if n.global, err = r.addInterface(Interface{Name: string(name), LinkType: n.link, ID: id}); err != nil {
		return err
	}
	r.ng.ifaces = append(r.ng.ifaces, n)
	r.several = r.several || id > 0
	return nil
}

// addInterface gives the index in r.ifaces of an interface, new or known.
func (r *Reader) addInterface(i Interface) (int, error) {
	if n, ok := r.seen[i]; ok {
		return n, nil
	}
	if len(r.ifaces) == maxInterfaces {
		return 0, r.damage(fmt.Sprintf("more than %d interfaces", maxInterfaces))
	}
	n := len(r.ifaces)
	r.ifaces = append(r.ifaces, i)
	r.seen[i] = n
	return n, nil
}

// readEPB reads an enhanced packet block or its forerunner, whose interface
// number has 16 bits and whose options are a subset.
func (r *Reader) readEPB(f *packet.Frame, total, typ uint32) error {
	const fixed = 28 // block header included
	s, big := &r.s, r.ng.big
	if total < fixed+4 {
		return r.damage(fmt.Sprintf("packet block with impossible length %d", total))
	}
	if !s.need(fixed) {
		return r.stop(fmt.Sprintf("packet block cut after %d of %d bytes", s.avail(), total))
	}
	h := s.buf[s.r : s.r+fixed]
	id, caplen := get32(h[8:], big), get32(h[20:], big)
	if typ == blockPB {
		id = uint32(get16(h[8:], big))
	}
	if caplen > MaxRecord {
		return r.damage(fmt.Sprintf("record of %d bytes, over the limit of %d", caplen, MaxRecord))
	}
	if caplen > total-fixed-4 {
		return r.damage(fmt.Sprintf("record of %d bytes in a block of %d", caplen, total))
	}
	if uint64(id) >= uint64(len(r.ng.ifaces)) {
		return r.damage(fmt.Sprintf("packet of interface %d, which the capture does not describe", id))
	}
	b, err := r.block(total)
	if err != nil {
		return err
	}
	i := &r.ng.ifaces[id]
	ts := uint64(get32(b[4:], big))<<32 | uint64(get32(b[8:], big))
	r.last = i.res.ns(ts)
	*f = packet.Frame{
		Data:    b[20 : 20+caplen : 20+caplen],
		TS:      r.last,
		WireLen: max(get32(b[16:], big), caplen),
		Link:    i.link,
	}
	if at := 20 + int(caplen+3)&^3; at < len(b) {
		packetOptions(f, b[at:], big, typ == blockEPB)
	}
	return r.frame(i)
}

// readSPB reads a simple packet block: interface 0, no time, and a captured
// length that follows from the snap length.
func (r *Reader) readSPB(f *packet.Frame, total uint32) error {
	if total < 16 {
		return r.damage(fmt.Sprintf("simple packet block with impossible length %d", total))
	}
	if len(r.ng.ifaces) == 0 {
		return r.damage("packet of interface 0, which the capture does not describe")
	}
	i := &r.ng.ifaces[0]
	if !r.s.need(12) {
		return r.stop(fmt.Sprintf("simple packet block cut after %d bytes", r.s.avail()))
	}
	wire := get32(r.s.buf[r.s.r+8:], r.ng.big)
	caplen := min(wire, total-16)
	if i.snaplen != 0 {
		caplen = min(caplen, i.snaplen)
	}
	if caplen > MaxRecord {
		return r.damage(fmt.Sprintf("record of %d bytes, over the limit of %d", caplen, MaxRecord))
	}
	b, err := r.block(total)
	if err != nil {
		return err
	}
	*f = packet.Frame{Data: b[4 : 4+caplen : 4+caplen], TS: r.last, WireLen: wire, Link: i.link}
	return r.frame(i)
}

// frame counts a frame of interface i.
func (r *Reader) frame(i *ngInterface) error {
	r.frames++
	r.iface = i.global
	if i.unknown {
		r.warnLink(i.link)
	}
	return nil
}
