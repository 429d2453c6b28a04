package demux

import (
	"math/bits"

	"edemux/flowtable"
)

// index maps a 32-bit hash to references by open addressing with linear
// probing. The caller compares keys: a reference leads to a socket or a chain
// that knows its own. Eight bytes per slot, at most three quarters full, so a
// million sockets cost about 16 MB and one cache line per probe.
type index struct {
	slots paged[slot]
	mask  uint32 // number of slots - 1
	live  uint32 // references held
	used  uint32 // slots that are not empty, deleted ones included
}

// slot is empty when ref is 0; a deleted one has ref tomb.
type slot struct{ tag, ref uint32 }

const tomb = ^uint32(0)

// hashAddr hashes the key of a chain. Keys are put in by the operator only, so
// it needs no secret.
func hashAddr(a flowtable.Addr, port uint16) uint32 {
	hi, lo := bits.Mul64(a.Lo^uint64(port)<<48^0x9e3779b97f4a7c15, 0xd1342543de82ef95^a.Hi)
	return uint32((hi ^ lo) * 0x9fb21c651e98df25 >> 32)
}

// hashTuple hashes the four-tuple of a connected socket.
func hashTuple(k *flowtable.Key) uint32 {
	hi, lo := bits.Mul64(k.Laddr.Lo^uint64(k.Lport)<<48^0x9e3779b97f4a7c15, 0xd1342543de82ef95^k.Laddr.Hi)
	hi2, lo2 := bits.Mul64(k.Faddr.Lo^uint64(k.Fport)<<48^0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3^k.Faddr.Hi)
	return uint32((hi ^ bits.RotateLeft64(hi2, 32) ^ lo*3 ^ lo2) * 0x9fb21c651e98df25 >> 32)
}

// probe walks the slots of one hash: next returns references with an equal
// tag until there are no more (0).
type probe struct {
	x    *index
	i    uint32
	hash uint32
}

func (x *index) probe(hash uint32) probe { return probe{x, hash & x.mask, hash} }

func (p *probe) next() uint32 {
	if p.x.live == 0 {
		return 0
	}
	for {
		s := p.x.slots.at(p.i)
		p.i = (p.i + 1) & p.x.mask
		if s.ref == 0 {
			return 0
		}
		if s.tag == p.hash && s.ref != tomb {
			return s.ref
		}
	}
}

// add inserts a reference, growing first when the index is three quarters full.
func (x *index) add(hash, ref uint32, epoch uint64) {
	if x.used+1 > (x.mask+1)/4*3 {
		x.rebuild(epoch)
	}
	for i := hash & x.mask; ; i = (i + 1) & x.mask {
		s := x.slots.at(i)
		if s.ref == 0 || s.ref == tomb {
			if s.ref == 0 {
				x.used++
			}
			*x.slots.mut(i, epoch) = slot{hash, ref}
			x.live++
			return
		}
	}
}

// replace puts reference to in the place of from, which is there; to = 0
// deletes it.
func (x *index) replace(hash, from, to uint32, epoch uint64) {
	for i := hash & x.mask; ; i = (i + 1) & x.mask {
		s := x.slots.at(i)
		if s.ref == 0 {
			return
		}
		if s.tag != hash || s.ref != from {
			continue
		}
		if to == 0 {
			to = tomb
			x.live--
		}
		x.slots.mut(i, epoch).ref = to
		return
	}
}

// rebuild rehashes into a table with room for twice the live references.
func (x *index) rebuild(epoch uint64) {
	n := uint32(pageSize)
	for n/2 < x.live+1 {
		n *= 2
	}
	old, oldMask := x.slots, x.mask
	x.slots, x.mask = paged[slot]{}, n-1
	x.slots.mut(n-1, epoch)
	live := x.live
	x.live, x.used = 0, 0
	if live == 0 {
		return
	}
	for i := uint32(0); i <= oldMask; i++ {
		if s := *old.at(i); s.ref != 0 && s.ref != tomb {
			x.add(s.tag, s.ref, epoch)
		}
	}
}

// snapshot returns what a View keeps.
func (x *index) snapshot() index {
	c := *x
	c.slots = x.slots.snapshot()
	return c
}
