package flowtable

import (
	"runtime"
	"sync/atomic"
)

// flowList is a doubly linked list through the flows of one space and family.
// It exists in shared tables only and makes removing a VRF cost its own flows.
//
// A link names a flow by 32 bits, 0 is none: an IPv6 record by its number, an
// IPv4 slot by its index, bit 30 set, and in bit 31 the parity of its
// geometry's id (at most two consecutive geometries hold flows). The word of a
// flow is next<<32 | prev.
//
// The lock comes after that of a chain; nothing is taken while it is held.
type flowList struct {
	lock atomic.Uint32
	head uint32
	_    [56]byte
}

const linkMark = 1 << 30

// list returns the space's list of a family.
func (s *Space) list(v6 bool) *flowList {
	if v6 {
		return &s.lists[1]
	}
	return &s.lists[0]
}

// link4 is the link that names an IPv4 slot.
func (g *geom) link4(p pos) uint32 {
	return p.li*slots4 + uint32(p.i) | linkMark | g.id&1<<31
}

// link is the link that names a slot.
func (c *chain) link(p pos) uint32 {
	if c.g.v6 {
		return c.g.rec6(p)
	}
	return c.g.link4(p)
}

// linkWord is the link word of a slot.
func (c *chain) linkWord(p pos) *uint64 {
	if c.g.v6 {
		return &(*c.sd.links.Load())[c.g.rec6(p)]
	}
	return &(*c.g.links.Load())[p.li*slots4+uint32(p.i)]
}

// word finds the link word of a link.
func (sd *side) word(v uint32) *uint64 {
	if sd.v6 {
		return &(*sd.links.Load())[v]
	}
	return sd.geomOf(v).wordAt(v)
}

func (g *geom) wordAt(v uint32) *uint64 { return &(*g.links.Load())[v&(linkMark-1)] }

// geomOf is the geometry that an IPv4 link points into.
func (sd *side) geomOf(v uint32) *geom {
	g := sd.first.Load()
	for g.id&1 != v>>31 {
		g = g.next.Load()
	}
	return g
}

func (l *flowList) take() {
	for n := 1; !l.lock.CompareAndSwap(0, 1); n++ {
		if n%spins == 0 {
			runtime.Gosched()
		}
	}
}

func (l *flowList) release() { l.lock.Store(0) }

// push adds the flow named v, whose link word is w.
func (l *flowList) push(sd *side, v uint32, w *uint64) {
	l.take()
	defer l.release()
	*w = uint64(l.head) << 32
	if l.head != 0 {
		h := sd.word(l.head)
		*h = *h&^0xffffffff | uint64(v)
	}
	l.head = v
}

// remove takes the flow whose link word is w out.
func (l *flowList) remove(sd *side, w *uint64) {
	l.take()
	defer l.release()
	l.join(sd, uint32(*w), uint32(*w>>32))
}

// move renames a flow.
func (l *flowList) move(sd *side, to uint32, wFrom, wTo *uint64) {
	l.take()
	defer l.release()
	*wTo = *wFrom
	prev, next := uint32(*wTo), uint32(*wTo>>32)
	l.join(sd, prev, to)
	if next != 0 {
		w := sd.word(next)
		*w = *w&^0xffffffff | uint64(to)
	}
}

// join makes next follow prev (0: the head) and, when it is a neighbour's,
// prev precede next.
func (l *flowList) join(sd *side, prev, next uint32) {
	if prev == 0 {
		l.head = next
	} else {
		w := sd.word(prev)
		*w = *w&0xffffffff | uint64(next)<<32
	}
	if next != 0 {
		w := sd.word(next)
		*w = *w&^0xffffffff | uint64(prev)
	}
}

// front returns the newest flow's link, 0 when the list is empty.
func (l *flowList) front() uint32 {
	l.take()
	defer l.release()
	return l.head
}
