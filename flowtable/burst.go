package flowtable

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"edemux/flowtable/prefetch"
)

const (
	// burstMax is how many lookups are planned at once.
	burstMax = 64
	// ahead6 is how many IPv6 lookups each of the two prefetches of one runs
	// before the next, and group how many it takes at once.
	ahead6 = 16
	group  = 4
	// noOwner and noLine are no numbers of owners and lines.
	noOwner, noLine = ^uint32(0), ^uint32(0)
)

// burst is the state of one LookupBurst, in which the cache misses of all
// lookups overlap. A first pass finds the home lines and prefetches them. A
// second one decides every IPv4 lookup that its home line alone decides, and
// prefetches what the few others need: an overflow line or the cold part. A
// third one ends those. IPv6 lookups run in a pipeline of three stages.
type burst struct {
	s     *Space
	d     Dev
	now   int64
	own   uint32 // owner whose flows take packets of d, remembered
	idx   [burstMax]uint32
	ptr   [burstMax]*line // of IPv4 lookups: an address that was stored is cheaper than one that is computed for each word
	pos   [burstMax]uint8
	later [burstMax]uint8
	n     int
}

// LookupBurst looks k[i] up for every i, prefetching ahead, stores the results
// in refs and the sockets in socks, and returns the number of hits. The slices
// have one length; the keys may be of both families. The answers are those of
// Lookup, called one after the other.
func (s *Space) LookupBurst(h []uint32, k []Key, d Dev, now int64, refs []Ref, socks []uint32) (hits int) {
	b := burst{s: s, d: d, now: now, own: noOwner}
	if d.Match(0) {
		b.own = s.own0
	}
	for len(k) > 0 {
		n := min(len(k), burstMax)
		hits += b.run(h[:n], k[:n], refs[:n], socks[:n])
		h, k, refs, socks = h[n:], k[n:], refs[n:], socks[n:]
	}
	return hits
}

func (b *burst) run(h []uint32, k []Key, refs []Ref, socks []uint32) (hits int) {
	b.n = 0
	g4, g6 := b.s.t.v4.first.Load(), b.s.t.v6.first.Load()
	n4 := b.plan(g4, g6, h, k)
	if g4.next.Load() == nil {
		hits = b.homes(g4, n4, h, k, refs, socks) + b.seconds(g4, h, k, refs, socks)
	} else {
		hits = b.finish(b.pos[:n4], h, k, refs, socks)
	}
	if n4 < len(k) && g6 != nil && g6.next.Load() == nil {
		hits += b.records(g6, n4, h, k, refs, socks)
	} else {
		hits += b.finish(b.pos[n4:len(k)], h, k, refs, socks)
	}
	runtime.KeepAlive(g4) // their memory is unmapped when nothing refers to them
	runtime.KeepAlive(g6)
	return hits
}

// plan finds the home lines: of IPv4 lookups, whose number it returns, at the
// front of idx and pos, of IPv6 lookups at the back.
func (b *burst) plan(g4, g6 *geom, h []uint32, k []Key) (n4 int) {
	n6 := len(k)
	for i := range k {
		if k[i].Is4() {
			li := g4.home(h[i])
			b.idx[n4&(burstMax-1)] = li
			b.ptr[n4&(burstMax-1)] = &g4.lines[li]
			b.pos[n4&(burstMax-1)] = uint8(i)
			n4++
			continue
		}
		n6--
		b.pos[n6] = uint8(i)
		if g6 != nil {
			b.idx[n6] = g6.home(h[i])
		}
	}
	return n4
}

// put leaves lookup i for later, when line li will be there. The list never
// overtakes the lookups that idx is read for.
func (b *burst) put(i uint8, li uint32) {
	b.later[b.n], b.idx[b.n] = i, li
	b.n++
}

// finish looks up one by one.
func (b *burst) finish(list []uint8, h []uint32, k []Key, refs []Ref, socks []uint32) (hits int) {
	for _, i := range list {
		if refs[i], socks[i] = b.s.LookupSock(h[i], &k[i], b.d, b.now); refs[i] != 0 {
			hits++
		}
	}
	return hits
}

// zero is 1 when x is 0, else 0; it compiles to a conditional move.
func zero(x uint64) (r uint64) {
	if x == 0 {
		r = 1
	}
	return r
}

// eq is 1 when two words of a slot are those of a key, else 0, without a branch:
// which slot matches cannot be predicted.
func eq(e0, e1, a, ports uint64) uint64 { return zero((e0 ^ a) | (e1>>32 ^ ports)) }

// match is a bit for each slot of an IPv4 line that has these key words.
func match(l *line, a, ports uint64) uint64 {
	return eq(atomic.LoadUint64(&l[2]), atomic.LoadUint64(&l[3]), a, ports) |
		eq(atomic.LoadUint64(&l[4]), atomic.LoadUint64(&l[5]), a, ports)<<1 |
		eq(atomic.LoadUint64(&l[6]), atomic.LoadUint64(&l[7]), a, ports)<<2
}

// hit takes the first slot of m in the line li with header w, if nothing else
// than the line has to be looked at for that.
func (b *burst) hit(g *geom, li uint32, w, m uint64, h uint32) (r Ref, sock uint32, ok bool) {
	l := &g.lines[li]
	s := int(m & -m >> 1) // slot 0, 1 or 2 from bit 1, 2 or 4
	o := uint32(atomic.LoadUint64(&l[1])>>(ownerBits*s&63)) & ownerMask
	sock = uint32(atomic.LoadUint64(&l[(3+2*s)&7]))
	ok = w&(1<<((dl4Shift+s)&63)) == 0 && w>>((flagShift+2*s)&63)&3 != 0 && (o == b.own || b.owned(o))
	return ref4(g, h, o, pos{li, s}), sock, ok
}

// homes decides IPv4 lookups from their home lines. It is match and hit spelt
// out: calls would cost more than what they do.
func (b *burst) homes(g *geom, n int, h []uint32, k []Key, refs []Ref, socks []uint32) (hits int) {
	base := unsafe.Pointer(&g.lines[0])
	prefetch.Lines(base, b.idx[:n])
	own, top := b.own, refTop(0, b.own)|Ref(g.id<<refID)
	for j := range n {
		i, li := b.pos[j&(burstMax-1)], b.idx[j&(burstMax-1)]
		key, l := &k[i], b.ptr[j&(burstMax-1)]
		w := atomic.LoadUint64(&l[0])
		a, ports := key.Laddr.Lo<<32|key.Faddr.Lo&0xffffffff, uint64(key.ports())
		m := eq(atomic.LoadUint64(&l[2]), atomic.LoadUint64(&l[3]), a, ports) |
			eq(atomic.LoadUint64(&l[4]), atomic.LoadUint64(&l[5]), a, ports)<<1 |
			eq(atomic.LoadUint64(&l[6]), atomic.LoadUint64(&l[7]), a, ports)<<2
		if m != 0 {
			m &= -m // the first slot: 1, 2 or 4
			s := int(m >> 1)
			o := uint32(atomic.LoadUint64(&l[1])>>(ownerBits*s&63)) & ownerMask
			sock := uint32(atomic.LoadUint64(&l[(3+2*s)&7]))
			// The state is in bits 0-1, 2-3 or 4-5 of the flags: m*m is its lower bit.
			if w&(lockBit|movedBit|m<<dl4Shift) == 0 && (w>>flagShift|w>>(flagShift+1))&(m*m) != 0 && o == own &&
				atomic.LoadUint64(&l[0]) == w {
				refs[i], socks[i] = Ref(h[i])<<refHash|top|Ref(li*slots4+uint32(s)+1), sock
				hits++
				continue
			}
			b.cold(g, li, o, i)
			own, top = b.own, refTop(0, b.own)|Ref(g.id<<refID)
			continue
		}
		if w&(lockBit|movedBit|fltBit(h[i])) == 0 && atomic.LoadUint64(&l[0]) == w {
			refs[i], socks[i] = 0, 0
			continue
		}
		b.overflow(g, w, i)
	}
	return hits
}

// cold leaves a lookup for later that needs a look at the owner or the
// deadline.
func (b *burst) cold(g *geom, li, o uint32, i uint8) {
	b.owned(o)
	prefetch.Line(unsafe.Pointer(&g.cold[li]))
	b.put(i, noLine)
}

// overflow leaves a lookup for later that needs the chain's second line.
func (b *burst) overflow(g *geom, w uint64, i uint8) {
	if w>>ovfShift == 0 {
		b.put(i, noLine)
		return
	}
	next := g.ovf(w)
	prefetch.Line(unsafe.Pointer(&g.lines[next]))
	b.put(i, next)
}

// seconds decides the IPv4 lookups left over, as far as the second line of
// their chain does, and looks the others up one by one.
func (b *burst) seconds(g *geom, h []uint32, k []Key, refs []Ref, socks []uint32) (hits int) {
	for x, i := range b.later[:b.n] {
		r, sock, ok := b.second(g, b.idx[x&(burstMax-1)], h[i], &k[i])
		if !ok {
			r, sock = b.s.LookupSock(h[i], &k[i], b.d, b.now)
		}
		refs[i], socks[i] = r, sock
		hits += int(1 - zero(uint64(r)))
	}
	b.n = 0
	return hits
}

// second is a lookup in line li, the one after the home line, where nothing
// has matched; ok is false when that does not decide it.
func (b *burst) second(g *geom, li, h uint32, k *Key) (r Ref, sock uint32, ok bool) {
	if li == noLine {
		return 0, 0, false
	}
	home := &g.lines[g.home(h)]
	w := atomic.LoadUint64(&home[0])
	if a := k.Laddr.Lo<<32 | k.Faddr.Lo&0xffffffff; w&(lockBit|movedBit) != 0 || w>>ovfShift == 0 || g.ovf(w) != li ||
		match(home, a, uint64(k.ports())) != 0 {
		return 0, 0, false
	}
	l := &g.lines[li]
	lw := atomic.LoadUint64(&l[0])
	if m := match(l, k.Laddr.Lo<<32|k.Faddr.Lo&0xffffffff, uint64(k.ports())); m != 0 {
		r, sock, ok = b.hit(g, li, lw, m, h)
	} else {
		ok = lw>>ovfShift == 0
	}
	return r, sock, ok && atomic.LoadUint64(&home[0]) == w
}

// owned reports whether flows of owner o are the space's and take packets of
// the burst's device.
func (b *burst) owned(o uint32) bool {
	owners := *b.s.t.owners.Load()
	if int(o) < len(owners) && owners[o].space == b.s && b.d.Match(owners[o].bdi) {
		b.own = o
		return true
	}
	return false
}

// records looks up IPv6 keys in three stages, each some lookups ahead of the
// next: prefetch the tag line, prefetch the record of the first equal tag,
// compare.
func (b *burst) records(g *geom, n4 int, h []uint32, k []Key, refs []Ref, socks []uint32) (hits int) {
	base := unsafe.Pointer(&g.lines[0])
	var rec [burstMax]uint32
	n := len(k)
	for at := n4; at < n+2*ahead6; at += group {
		if at < n {
			prefetch.Lines(base, b.idx[at:min(n, at+group)])
		}
		for j := max(n4, at-ahead6); j < min(n, at-ahead6+group); j++ {
			rec[j] = b.record(g, b.idx[j], h[b.pos[j]])
		}
		for j := max(n4, at-2*ahead6); j < min(n, at-2*ahead6+group); j++ {
			i := b.pos[j]
			if r, sock, ok := b.home6(g, b.idx[j], rec[j], h[i], &k[i]); ok {
				refs[i], socks[i] = r, sock
				hits += int(1 - zero(uint64(r)))
				continue
			}
			hits += b.finish(b.pos[j:j+1], h, k, refs, socks)
		}
	}
	return hits
}

// record finds the first tag that is equal and prefetches its record, whose
// number it returns, 0 when there is none.
func (b *burst) record(g *geom, li, h uint32) uint32 {
	n := g.first6(li, h)
	if int(n) >= len(b.s.t.v6.recs) {
		return 0
	}
	prefetch.Line(unsafe.Pointer(&b.s.t.v6.recs[n]))
	return n
}

// first6 is the record of the first tag in a line that is h's, 0 without one.
func (g *geom) first6(li, h uint32) uint32 {
	l := &g.lines[li]
	tags := spread(tag6(h))
	m := zeros16(atomic.LoadUint64(&l[1]) ^ tags)
	p := pos{li, bits.TrailingZeros64(m) / 16}
	if m == 0 {
		if m = zeros16(atomic.LoadUint64(&l[2]) ^ tags); m == 0 {
			return 0
		}
		p.i = 4 + bits.TrailingZeros64(m)/16
	}
	return g.rec6(p)
}

// home6 decides an IPv6 lookup from its home line and the record of the first
// equal tag, if they decide it. The home line's header is read first and last,
// and the record must still be in the line in between.
func (b *burst) home6(g *geom, li, n, h uint32, k *Key) (r Ref, sock uint32, ok bool) {
	l := &g.lines[li]
	w := atomic.LoadUint64(&l[0])
	if w&(lockBit|movedBit) != 0 || n != g.first6(li, h) {
		return 0, 0, false
	}
	if n == 0 {
		return 0, 0, w&fltBit(h) == 0 && atomic.LoadUint64(&l[0]) == w
	}
	rec := &b.s.t.v6.recs[n]
	if !rec.is(k) {
		return 0, 0, false
	}
	o := uint32(atomic.LoadUint64(&rec[recOwner])) & ownerMask
	sock = uint32(atomic.LoadUint64(&rec[recPorts]))
	dl := int64(atomic.LoadUint64(&rec[recDl]))
	if o != b.own && !b.owned(o) || dl != 0 && b.now >= dl || atomic.LoadUint64(&l[0]) != w {
		return 0, 0, false
	}
	return refTop(h, o) | ref6 | Ref(n), sock, true
}
