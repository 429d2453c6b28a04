package flowtable

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"edemux/flowtable/prefetch"
)

// This file tells busy ports from others without a lock, fast: ESTABLISHED
// flows without a deadline, which are nearly all of them. A port that it does
// not call busy is looked up properly.

// A search that has not ended after blockAfter candidates goes on in blocks of
// at most blockPorts ports.
const (
	blockAfter = 4
	blockPorts = 64
)

// plain has, for the nine flags of an IPv4 line, a bit for every slot that is
// ESTABLISHED and has no deadline.
var plain = func() (t [1 << 9]uint8) {
	for f := range t {
		for i := range slots4 {
			if State(f>>(2*i)&3)-1 == Established && f>>(dl4Shift-flagShift+i)&1 == 0 {
				t[f] |= 1 << i
			}
		}
	}
	return t
}()

// block has a bit for each of the n ports from port on, set when the port is
// busy. It need not know ports that are no multiple of stride away. None wraps;
// stride is 1 or 2.
func (x *search) block(port, n, stride uint32) (mask uint64) {
	if x.is4 {
		mask = x.block4(x.g, port, n)
	} else {
		mask = x.block6(x.g, port, n, stride)
	}
	runtime.KeepAlive(x.g)
	return mask
}

// block4 reads the ports' home lines once each: consecutive ports lie in
// consecutive lines.
func (x *search) block4(g *geom, port, n uint32) (mask uint64) {
	li := g.home(x.hash(port))
	last := g.home(x.hash(port + n - 1))
	for {
		l := &g.lines[li]
		w := atomic.LoadUint64(&l[0])
		m := x.line4(l, w, port)
		if w>>ovfShift != 0 {
			m |= x.overflow4(g, l, w, port)
		}
		if w&(lockBit|movedBit) == 0 && atomic.LoadUint64(&l[0]) == w {
			mask |= m
		}
		if li == last {
			return mask
		}
		if li++; li == g.main {
			li = 0
		}
	}
}

// line4 has the bits of the flows in a line with header w. Bits of ports
// outside the block are shifted out.
func (x *search) line4(l *line, w uint64, port uint32) (mask uint64) {
	set := plain[w>>flagShift&0x1ff]
	own := atomic.LoadUint64(&l[1])
	for i := range slots4 {
		e1 := atomic.LoadUint64(&l[3+2*i])
		if atomic.LoadUint64(&l[2+2*i]) != x.addr || uint16(e1>>32) != x.c.Fport || set>>i&1 == 0 {
			continue
		}
		if own == x.own3 || x.conflicts(uint32(own>>(ownerBits*i&63))&ownerMask) {
			mask |= 1 << (uint32(e1>>48) - port)
		}
	}
	return mask
}

// overflow4 is line4 for the overflow lines of a chain.
func (x *search) overflow4(g *geom, home *line, w uint64, port uint32) (mask uint64) {
	for lw := w; lw>>ovfShift != 0 && atomic.LoadUint64(&home[0]) == w; {
		l := &g.lines[g.ovf(lw)]
		lw = atomic.LoadUint64(&l[0])
		mask |= x.line4(l, lw, port)
	}
	return mask
}

// block6 finds the records of all candidates first, so that their cache misses
// overlap, and then compares them.
func (x *search) block6(g *geom, port, n, stride uint32) (mask uint64) {
	var home [blockPorts]*line
	var hdr [blockPorts]uint64
	var rec [blockPorts]uint32
	recs, many := x.sd.recs, 0
	for j := uint32(0); j < n; j += stride {
		h := x.hash(port + j)
		l := &g.lines[g.home(h)]
		tags := spread(tag6(h))
		m, at := zeros16(atomic.LoadUint64(&l[1])^tags), 0
		if m == 0 {
			m, at = zeros16(atomic.LoadUint64(&l[2])^tags), 4
		}
		i := (at + bits.TrailingZeros64(m)/16) & (slots6 - 1)
		c := many & (blockPorts - 1)
		home[c], hdr[c] = l, atomic.LoadUint64(&l[0])
		rec[c] = uint32(atomic.LoadUint64(&l[3+i>>1]) >> (32 * (i & 1)))
		many++
	}
	prefetch.Lines(unsafe.Pointer(&recs[0]), rec[:many])
	for c := range many {
		j := uint32(c) * stride
		r, w := &recs[rec[c]], hdr[c]
		x.key.Lport = uint16(port + j)
		o := atomic.LoadUint64(&r[recOwner])
		if r.is(&x.key) && o>>32 == uint64(Established)+1 && atomic.LoadUint64(&r[recDl]) == 0 &&
			x.conflicts(uint32(o)&ownerMask) && w&(lockBit|movedBit) == 0 && atomic.LoadUint64(&home[c][0]) == w {
			mask |= 1 << j
		}
	}
	return mask
}

func (x *search) taken4(g *geom, h uint32, ports uint64) bool {
	home := &g.lines[g.home(h)]
	w := atomic.LoadUint64(&home[0])
	if w&(lockBit|movedBit) != 0 {
		return false
	}
	more := w&fltBit(h) != 0
	for l, lw := home, w; ; {
		m := eq(atomic.LoadUint64(&l[2]), atomic.LoadUint64(&l[3]), x.addr, ports) |
			eq(atomic.LoadUint64(&l[4]), atomic.LoadUint64(&l[5]), x.addr, ports)<<1 |
			eq(atomic.LoadUint64(&l[6]), atomic.LoadUint64(&l[7]), x.addr, ports)<<2
		if m != 0 {
			i := int(m & -m >> 1)
			o := uint32(atomic.LoadUint64(&l[1])>>(ownerBits*i&63)) & ownerMask
			return lw>>((flagShift+2*i)&63)&3 == uint64(Established)+1 && lw>>((dl4Shift+i)&63)&1 == 0 &&
				x.conflicts(o) && atomic.LoadUint64(&home[0]) == w
		}
		if !more || lw>>ovfShift == 0 {
			return false
		}
		l = &g.lines[g.ovf(lw)]
		lw = atomic.LoadUint64(&l[0])
		if atomic.LoadUint64(&home[0]) != w {
			return false
		}
	}
}

func (x *search) taken6(g *geom, h uint32) bool {
	li := g.home(h)
	l := &g.lines[li]
	w := atomic.LoadUint64(&l[0])
	n := g.first6(li, h)
	if n == 0 || w&(lockBit|movedBit) != 0 {
		return false
	}
	r := &x.s.t.v6.recs[n]
	o := atomic.LoadUint64(&r[recOwner])
	return r.is(&x.key) && o>>32 == uint64(Established)+1 && atomic.LoadUint64(&r[recDl]) == 0 &&
		x.conflicts(uint32(o)&ownerMask) && atomic.LoadUint64(&l[0]) == w
}

// conflicts reports whether flows of owner o are the space's and take packets
// that the new flow would take.
func (x *search) conflicts(o uint32) bool {
	if o == x.s.own0 {
		return x.dev.Match(0)
	}
	owners := *x.s.t.owners.Load()
	return int(o) < len(owners) && owners[o].space == x.s && x.dev.Match(owners[o].bdi)
}
