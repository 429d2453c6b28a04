package capture

import (
	"math/bits"

	"edemux/dataplane/packet"
)

// Option codes of pcapng.
const (
	optEnd      = 0
	optComment  = 1
	ifName      = 2
	ifTsresol   = 9
	ifTsoffset  = 14
	epbFlags    = 2 // the obsolete packet block has it under the same code
	epbQueue    = 6
	shbUserAppl = 4
)

// nextOption splits the first option off b. The last one, and options that
// reach past their block, give ok false: the packet itself is not in doubt.
func nextOption(b []byte, big bool) (code uint16, val, rest []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, nil, false
	}
	code, n := get16(b, big), int(get16(b[2:], big))
	if code == optEnd || n > len(b)-4 {
		return 0, nil, nil, false
	}
	return code, b[4 : 4+n], b[min(len(b), 4+(n+3)&^3):], true
}

// packetOptions takes over what the options of a packet block say. Bits 0 and 1
// of epb_flags are the direction, 2 to 4 the reception type.
func packetOptions(f *packet.Frame, b []byte, big, epb bool) {
	for {
		code, val, rest, ok := nextOption(b, big)
		if !ok {
			return
		}
		b = rest
		if len(val) != 4 {
			continue
		}
		switch v := get32(val, big); {
		case code == epbFlags:
			setFlags(f, v)
		case code == epbQueue && epb && v <= 0xffff:
			f.HasQueue, f.CPU = true, uint16(v)
		}
	}
}

func setFlags(f *packet.Frame, v uint32) {
	switch v & 3 {
	case 1:
		f.Dir = packet.DirIn
	case 2:
		f.Dir = packet.DirOut
	}
	f.HasPktType = true
	switch v >> 2 & 7 {
	case 1:
		f.PktType = packet.Host
	case 2:
		f.PktType = packet.Multicast
	case 3:
		f.PktType = packet.Broadcast
	case 4:
		f.PktType = packet.OtherHost
	default:
		f.HasPktType = false
	}
}

// options reads what the reader uses of an interface's options and returns
// if_name, borrowed from b.
func (n *ngInterface) options(b []byte, big bool) (name []byte) {
	for {
		code, val, rest, ok := nextOption(b, big)
		if !ok {
			return name
		}
		b = rest
		switch {
		case code == ifName:
			name = val
			for len(name) > 0 && name[len(name)-1] == 0 { // some writers count the terminating zero
				name = name[:len(name)-1]
			}
		case code == ifTsresol && len(val) == 1:
			offset := n.res.offset
			n.res = newResolution(val[0])
			n.res.offset = offset
		case code == ifTsoffset && len(val) == 8:
			v := int64(order(big).Uint64(val))
			n.res.offset = min(max(v, -maxTS/second), maxTS/second) * second
		}
	}
}

// maxTS bounds times, in ns from the epoch (the years 1823 to 2116), so that
// sums of a time and a timeout cannot overflow.
const (
	maxTS  = 1<<62 - 1
	second = 1_000_000_000
)

// resolution turns the time stamps of an interface into ns.
type resolution struct {
	mul, div uint64 // decimal: ns = v * mul / div
	shift    uint8  // binary: seconds = v / 2^shift
	binary   bool
	offset   int64 // ns to add
}

var micro = resolution{mul: 1000, div: 1}

// newResolution reads if_tsresol: the negative power of 10, or with the top bit
// set of 2.
func newResolution(v uint8) resolution {
	if v&0x80 != 0 {
		return resolution{binary: true, shift: v & 0x7f}
	}
	r := resolution{mul: 1, div: 1}
	for ; v < 9; v++ {
		r.mul *= 10
	}
	for ; v > 9; v-- {
		if r.div > 1<<60 { // finer than any 64-bit stamp can show: all times are 0
			return resolution{mul: 0, div: 1}
		}
		r.div *= 10
	}
	return r
}

// ns is the time of stamp v, held within ±maxTS.
func (r *resolution) ns(v uint64) int64 {
	var hi, lo uint64
	if r.binary {
		hi, lo = bits.Mul64(v, second)
		if r.shift >= 64 {
			hi, lo = 0, hi>>(r.shift-64)
		} else {
			hi, lo = hi>>r.shift, hi<<(64-r.shift)|lo>>r.shift
		}
	} else {
		hi, lo = bits.Mul64(v, r.mul)
		if r.div > 1 {
			hi, lo = 0, lo/r.div // mul is 1 here
		}
	}
	if hi != 0 || lo > maxTS {
		lo = maxTS
	}
	return min(max(int64(lo)+r.offset, -maxTS), maxTS)
}
