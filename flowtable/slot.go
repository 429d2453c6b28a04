package flowtable

import "sync/atomic"

// entry is a decoded slot.
type entry struct {
	key   Key
	owner uint32
	gen   uint32 // the FIB generation's code in IPv4, itself in IPv6
	Flow
}

// pos names a slot.
type pos struct {
	li uint32
	i  int
}

// The functions below read and write one slot. Readers may be anywhere, so
// every word is stored atomically; callers that write hold the chain. w is the
// header of the slot's line.

// rec6 is the record number of an IPv6 slot, 0 when it is empty.
func (g *geom) rec6(p pos) uint32 {
	w := atomic.LoadUint64(&g.lines[p.li][3+p.i>>1])
	return uint32(w >> (32 * (p.i & 1)))
}

func (g *geom) setRec6(p pos, n uint32, tag uint64) {
	put16 := func(w *uint64, sh int, mask, v uint64) {
		atomic.StoreUint64(w, *w&^(mask<<sh)|v<<sh)
	}
	l := &g.lines[p.li]
	put16(&l[3+p.i>>1], 32*(p.i&1), 0xffffffff, uint64(n))
	put16(&l[1+p.i>>2], 16*(p.i&3), 0xffff, tag)
}

func (g *geom) tagAt(p pos) uint64 {
	return atomic.LoadUint64(&g.lines[p.li][1+p.i>>2]) >> (16 * (p.i & 3)) & 0xffff
}

func (g *geom) used(w uint64, p pos) bool {
	if g.v6 {
		return g.rec6(p) != 0
	}
	return w>>(flagShift+2*p.i)&3 != 0
}

// hasDl reports whether the slot's flow has a deadline.
func (g *geom) hasDl(w uint64, p pos) bool {
	if g.v6 {
		return w>>(dl6Shift+p.i)&1 != 0
	}
	return w>>(dl4Shift+p.i)&1 != 0
}

func (sd *side) record(n uint32) *line { return &sd.recs[n] }

// deadline is that of a slot that has one.
func (sd *side) deadline(g *geom, p pos) int64 {
	if g.v6 {
		return int64(atomic.LoadUint64(&sd.record(g.rec6(p))[recDl]))
	}
	return g.cold[p.li].deadline(p.i)
}

// expired reports whether the slot's flow is past its deadline.
func (sd *side) expired(g *geom, w uint64, p pos, now int64) bool {
	return g.hasDl(w, p) && now >= sd.deadline(g, p)
}

func (sd *side) owner(g *geom, p pos) uint32 {
	if g.v6 {
		return uint32(atomic.LoadUint64(&sd.record(g.rec6(p))[recOwner])) & ownerMask
	}
	return uint32(atomic.LoadUint64(&g.lines[p.li][1])>>(ownerBits*p.i)) & ownerMask
}

// sameKey reports whether a used slot holds k.
func (sd *side) sameKey(g *geom, p pos, k *Key) bool {
	if g.v6 {
		return sd.record(g.rec6(p)).is(k)
	}
	a, ports, _ := k.split4()
	l := &g.lines[p.li]
	return atomic.LoadUint64(&l[2+2*p.i]) == a && uint32(atomic.LoadUint64(&l[3+2*p.i])>>32) == ports
}

// is reports whether an IPv6 record holds k.
func (r *line) is(k *Key) bool {
	return atomic.LoadUint64(&r[recFlo]) == k.Faddr.Lo && uint32(atomic.LoadUint64(&r[recPorts])>>32) == k.ports() &&
		atomic.LoadUint64(&r[recFhi]) == k.Faddr.Hi &&
		atomic.LoadUint64(&r[recLlo]) == k.Laddr.Lo && atomic.LoadUint64(&r[recLhi]) == k.Laddr.Hi
}

// read decodes a used slot, apart from Bdi and FibGen, which the owner's space
// knows. A reader without the chain must validate the home version afterwards.
func (sd *side) read(g *geom, w uint64, p pos) (e entry) {
	if g.v6 {
		n := g.rec6(p)
		if n == 0 || int(n) >= len(sd.recs) {
			return e
		}
		return sd.record(n).decode()
	}
	l, c := &g.lines[p.li], &g.cold[p.li]
	e1 := atomic.LoadUint64(&l[3+2*p.i])
	e.key = key4(atomic.LoadUint64(&l[2+2*p.i]), uint32(e1>>32))
	e.Sock = uint32(e1)
	e.owner = sd.owner(g, p)
	e.State = State(w>>(flagShift+2*p.i)&3) - 1
	if g.hasDl(w, p) {
		e.Deadline = c.deadline(p.i)
	}
	e.gen, e.Next = c.gen(p.i), c.next(p.i)
	return e
}

func (r *line) decode() (e entry) {
	e.key.Laddr = Addr{atomic.LoadUint64(&r[recLhi]), atomic.LoadUint64(&r[recLlo])}
	e.key.Faddr = Addr{atomic.LoadUint64(&r[recFhi]), atomic.LoadUint64(&r[recFlo])}
	pw := atomic.LoadUint64(&r[recPorts])
	e.key.Lport, e.key.Fport, e.Sock = uint16(pw>>48), uint16(pw>>32), uint32(pw)
	ow := atomic.LoadUint64(&r[recOwner])
	e.owner, e.State = uint32(ow)&ownerMask, State(ow>>32)-1
	nw := atomic.LoadUint64(&r[recNext])
	e.Next, e.gen = uint32(nw>>32), uint32(nw)
	e.Deadline = int64(atomic.LoadUint64(&r[recDl]))
	return e
}

func (r *line) encode(e *entry) {
	atomic.StoreUint64(&r[recLhi], e.key.Laddr.Hi)
	atomic.StoreUint64(&r[recLlo], e.key.Laddr.Lo)
	atomic.StoreUint64(&r[recFhi], e.key.Faddr.Hi)
	atomic.StoreUint64(&r[recFlo], e.key.Faddr.Lo)
	atomic.StoreUint64(&r[recPorts], uint64(e.key.ports())<<32|uint64(e.Sock))
	atomic.StoreUint64(&r[recOwner], uint64(e.State+1)<<32|uint64(e.owner))
	atomic.StoreUint64(&r[recNext], uint64(e.Next)<<32|uint64(e.gen))
	atomic.StoreUint64(&r[recDl], uint64(e.Deadline))
}
