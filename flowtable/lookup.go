package flowtable

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"edemux/flowtable/prefetch"
)

// A Ref is, from the top: 25 bits of the hash, enough for every home line; 9
// bits of the owner number, which tell flows with equal keys apart; then for
// IPv6 a set bit and the record number, for IPv4 a clear bit, 2 bits of the
// geometry's id and 27 bits of 1 + line*3 + slot.
const (
	refHash  = 39
	refOwner = 30
	ref6     = 1 << 29
	refID    = 27
	refPlace = 1<<refID - 1
)

// makeRef returns the Ref of a slot.
func makeRef(g *geom, h, owner uint32, p pos) Ref {
	if g.v6 {
		return refTop(h, owner) | ref6 | Ref(g.rec6(p))
	}
	return ref4(g, h, owner, p)
}

func refTop(h, owner uint32) Ref {
	return Ref(h)<<refHash | Ref(owner&(1<<(refHash-refOwner)-1))<<refOwner
}

func ref4(g *geom, h, owner uint32, p pos) Ref {
	return refTop(h, owner) | Ref(g.id<<refID|(p.li*slots4+uint32(p.i)+1))
}

// hash returns as much of the hash as home needs.
func (r Ref) hash() uint32 { return uint32(r >> refHash) }

// rec returns the record of an IPv6 Ref.
func (r Ref) rec() uint32 { return uint32(r) & (ref6 - 1) }

// pos returns the slot of an IPv4 Ref and its geometry's id.
func (r Ref) pos() (p pos, id uint32) {
	i := uint32(r)&refPlace - 1
	return pos{i / slots4, int(i % slots4)}, uint32(r) >> refID & 3
}

// fits reports whether the Ref can be one of a flow with this hash and owner.
func (r Ref) fits(h, owner uint32) bool {
	const mask = 1<<refOwner - 1
	return r&^mask == refTop(h, owner)
}

// outcome of an optimistic scan.
type outcome uint8

const (
	absent outcome = iota
	found
	gone   // the home line has moved to the next geometry
	redo   // a writer was there
	looked = 64
)

// takes decides whether a slot whose key matches is the flow looked for.
func (s *Space) takes(sd *side, g *geom, w uint64, p pos, o uint32, d Dev, now int64) bool {
	bdi := uint32(0)
	if o != s.own0 {
		owners := *s.t.owners.Load()
		if int(o) >= len(owners) || owners[o].space != s {
			return false
		}
		bdi = owners[o].bdi
	}
	return d.Match(bdi) && !(g.hasDl(w, p) && now >= sd.deadline(g, p))
}

// scan4 looks for an IPv4 key in one geometry. The home line is the only line
// it reads unless the chain is longer and its filter has h's bit.
func (s *Space) scan4(g *geom, h uint32, addrs uint64, ports uint32, d Dev, now int64) (Ref, uint32, outcome) {
	li := g.home(h)
	home := &g.lines[li]
	w := atomic.LoadUint64(&home[0])
	if w&(lockBit|movedBit) != 0 {
		if w&movedBit != 0 {
			return 0, 0, gone
		}
		return 0, 0, redo
	}
	more := w&fltBit(h) != 0
	for l, lw := home, w; ; {
		for i := range slots4 {
			if atomic.LoadUint64(&l[2+2*i]) != addrs {
				continue
			}
			e1 := atomic.LoadUint64(&l[3+2*i])
			if uint32(e1>>32) != ports || lw>>(flagShift+2*i)&3 == 0 {
				continue
			}
			o := uint32(atomic.LoadUint64(&l[1])>>(ownerBits*i)) & ownerMask
			if s.takes(&s.t.v4, g, lw, pos{li, i}, o, d, now) && atomic.LoadUint64(&home[0]) == w {
				return makeRef(g, h, o, pos{li, i}), uint32(e1), found
			}
		}
		if lw>>ovfShift == 0 || !more {
			break
		}
		li = g.ovf(lw)
		l = &g.lines[li]
		lw = atomic.LoadUint64(&l[0])
		if atomic.LoadUint64(&home[0]) != w {
			return 0, 0, redo
		}
	}
	if atomic.LoadUint64(&home[0]) != w {
		return 0, 0, redo
	}
	return 0, 0, absent
}

// scan6 is scan4 for IPv6: a line of tags, then the record of the one that is
// equal.
func (s *Space) scan6(g *geom, h uint32, k *Key, d Dev, now int64) (Ref, uint32, outcome) {
	sd := &s.t.v6
	li := g.home(h)
	home := &g.lines[li]
	w := atomic.LoadUint64(&home[0])
	if w&(lockBit|movedBit) != 0 {
		if w&movedBit != 0 {
			return 0, 0, gone
		}
		return 0, 0, redo
	}
	more := w&fltBit(h) != 0
	tags := spread(tag6(h))
	for lw := w; ; {
		l := &g.lines[li]
		if (zeros16(atomic.LoadUint64(&l[1])^tags) | zeros16(atomic.LoadUint64(&l[2])^tags)) != 0 {
			for i := range slots6 {
				p := pos{li, i}
				if g.tagAt(p) != tag6(h) {
					continue
				}
				n := g.rec6(p)
				if n == 0 || int(n) >= len(sd.recs) || !sd.recs[n].is(k) {
					continue
				}
				r := &sd.recs[n]
				sock, o := uint32(atomic.LoadUint64(&r[recPorts])), uint32(atomic.LoadUint64(&r[recOwner]))&ownerMask
				if s.takes6(r, o, d, now) && atomic.LoadUint64(&home[0]) == w {
					return makeRef(g, h, o, p), sock, found
				}
			}
		}
		if lw>>ovfShift == 0 || !more {
			break
		}
		li = g.ovf(lw)
		lw = atomic.LoadUint64(&g.lines[li][0])
		if atomic.LoadUint64(&home[0]) != w {
			return 0, 0, redo
		}
	}
	if atomic.LoadUint64(&home[0]) != w {
		return 0, 0, redo
	}
	return 0, 0, absent
}

// takes6 is takes for a record.
func (s *Space) takes6(r *line, o uint32, d Dev, now int64) bool {
	bdi := uint32(0)
	if o != s.own0 {
		owners := *s.t.owners.Load()
		if int(o) >= len(owners) || owners[o].space != s {
			return false
		}
		bdi = owners[o].bdi
	}
	dl := int64(atomic.LoadUint64(&r[recDl]))
	return d.Match(bdi) && (dl == 0 || now < dl)
}

// Lookup finds the flow of k, whose hash is h, that takes packets of d at time
// now. Of several flows with k bound to different devices the newest one that
// matches wins, as in Linux. It takes no lock; while a writer holds the bucket
// it waits for the writer's handful of stores.
func (s *Space) Lookup(h uint32, k *Key, d Dev, now int64) Ref {
	r, _ := s.LookupSock(h, k, d, now)
	return r
}

// LookupSock is Lookup and Sock in one: the socket comes from the line that
// the lookup has read anyway.
func (s *Space) LookupSock(h uint32, k *Key, d Dev, now int64) (Ref, uint32) {
	addrs, ports, is4 := k.split4()
	sd := &s.t.v6
	if is4 {
		sd = &s.t.v4
	}
	g := sd.first.Load()
	for n := 1; g != nil; n++ {
		var r Ref
		var sock uint32
		var out outcome
		if is4 {
			r, sock, out = s.scan4(g, h, addrs, ports, d, now)
		} else {
			r, sock, out = s.scan6(g, h, k, d, now)
		}
		runtime.KeepAlive(g) // its memory is unmapped when nothing refers to it
		switch out {
		case found, absent:
			return r, sock
		case gone:
			g = g.next.Load()
		default:
			if n%looked == 0 {
				runtime.Gosched()
			}
		}
	}
	return 0, 0
}

// at is the geometry in which the flows of h are now.
func (sd *side) at(h uint32) *geom {
	g := sd.first.Load()
	for g != nil {
		n := g.next.Load()
		if n == nil || g.home(h) >= g.below.Load() {
			return g
		}
		g = n
	}
	return nil
}

// Prefetch brings the line that Lookup of this hash reads first into the cache.
func (s *Space) Prefetch(h uint32, v6 bool) {
	sd := &s.t.v4
	if v6 {
		sd = &s.t.v6
	}
	if g := sd.at(h); g != nil {
		prefetch.Line(unsafe.Pointer(&g.lines[g.home(h)]))
	}
}

// Get returns the flow at r, false when it is gone.
func (s *Space) Get(r Ref) (Flow, bool) {
	if r == 0 {
		return Flow{}, false
	}
	sd := &s.t.v4
	if r&ref6 != 0 {
		sd = &s.t.v6
	}
	h := r.hash()
	g := sd.first.Load()
	for n := 1; g != nil; n++ {
		li := g.home(h)
		w := atomic.LoadUint64(&g.lines[li][0])
		runtime.KeepAlive(g)
		switch {
		case w&movedBit != 0:
			g = g.next.Load()
		case w&lockBit != 0:
			if n%looked == 0 {
				runtime.Gosched()
			}
		default:
			e, ok := s.peek(sd, g, r)
			runtime.KeepAlive(g)
			if atomic.LoadUint64(&g.lines[li][0]) == w {
				return s.flow(&e, sd.v6), ok
			}
		}
	}
	return Flow{}, false
}

// peek decodes the slot of r if it can be what r stands for: a flow of this
// space with r's hash. The caller validates.
func (s *Space) peek(sd *side, g *geom, r Ref) (e entry, ok bool) {
	if sd.v6 {
		e = sd.recs[r.rec()].decode()
	} else {
		p, id := r.pos()
		if id != g.id {
			return entry{}, false
		}
		w := atomic.LoadUint64(&g.lines[p.li][0])
		if !g.used(w, p) {
			return entry{}, false
		}
		e = sd.read(g, w, p)
	}
	owners := *s.t.owners.Load()
	if e.State >= numStates || int(e.owner) >= len(owners) || owners[e.owner].space != s {
		return entry{owner: s.own0}, false
	}
	return e, r.fits(s.hash(&e.key), e.owner)
}

// Sock returns the socket of the flow at r, 0 when it is gone.
func (s *Space) Sock(r Ref) uint32 {
	f, ok := s.Get(r)
	if !ok {
		return 0
	}
	return f.Sock
}
