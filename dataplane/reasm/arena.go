package reasm

import "sync/atomic"

const (
	slabLen   = 64
	blockSize = 2048 // holds a fragment of a 1500-byte link, as one skb does
)

// blockSlab and queueSlab hold no pointers: the collector does not scan them.
type blockSlab struct {
	frag [slabLen]frag
	data [slabLen][blockSize]byte
}

type queueSlab struct {
	q [slabLen]queue
}

// frag describes a fragment, and stands with its first block. Indices are
// block number + 1.
type frag struct {
	off    uint32 // of its first byte in the fragmentable part
	len    uint32 // on the wire
	have   uint32 // captured, from the start
	hdr    uint32 // bytes of IP header stored before it; first fragment only
	next   uint32 // fragment behind it
	runEnd uint32 // first of a run: where the run ends; else 0
	runPos uint32 // first of a run: the run's last fragment
	more   uint32 // next block of the same fragment, or of the free list
}

// arena hands out numbered slots in slabs that are made on demand. Slots of a
// slab are used by whoever took them; get and put take a lock.
type arena[S any] struct {
	lock  spin
	free  uint32 // index + 1 of the first free slot
	slots uint32
	slabs atomic.Pointer[[]*S]
	links []uint32 // of free slots: index + 1 of the next
}

// slab returns slab i, which holds a slot in use.
func (a *arena[S]) slab(i uint32) *S { return (*a.slabs.Load())[i] }

// get takes a slot.
func (a *arena[S]) get() uint32 {
	a.lock.acquire()
	if a.free == 0 {
		a.grow()
	}
	i := a.free - 1
	a.free = a.links[i]
	a.lock.release()
	return i
}

// put gives slot i back.
func (a *arena[S]) put(i uint32) {
	a.lock.acquire()
	a.links[i] = a.free
	a.free = i + 1
	a.lock.release()
}

// grow adds a slab. The list of slabs is copied, so that slab needs no lock.
func (a *arena[S]) grow() {
	var old []*S
	if p := a.slabs.Load(); p != nil {
		old = *p
	}
	list := append(append(make([]*S, 0, len(old)+1), old...), new(S))
	a.slabs.Store(&list)
	a.links = append(a.links, make([]uint32, slabLen)...)
	for i := a.slots + slabLen; i > a.slots; i-- {
		a.links[i-1] = a.free
		a.free = i
	}
	a.slots += slabLen
}

// frag returns fragment i.
func (f *family) frag(i uint32) *frag {
	i--
	return &f.blocks.slab(i / slabLen).frag[i%slabLen]
}

func (f *family) block(i uint32) *[blockSize]byte {
	i--
	return &f.blocks.slab(i / slabLen).data[i%slabLen]
}

// store copies the parts of a fragment into a chain of blocks and returns the
// first, and the bytes to charge.
func (f *family) store(parts ...[]byte) (first uint32, charge int64) {
	first = f.blocks.get() + 1
	*f.frag(first) = frag{}
	cur, used := first, 0
	charge = blockSize
	for _, p := range parts {
		for len(p) > 0 {
			if used == blockSize {
				b := f.blocks.get() + 1
				*f.frag(b) = frag{}
				f.frag(cur).more = b
				cur, used = b, 0
				charge += blockSize
			}
			n := copy(f.block(cur)[used:], p)
			p, used = p[n:], used+n
		}
	}
	return first, charge
}

// load copies n stored bytes of the fragment at i to dst.
func (f *family) load(dst []byte, i uint32, n uint32) {
	for ; n > 0; i = f.frag(i).more {
		c := copy(dst[:n], f.block(i)[:])
		dst, n = dst[c:], n-uint32(c)
	}
}

// freeBlocks gives back the blocks of the fragment at i.
func (f *family) freeBlocks(i uint32) {
	for i != 0 {
		next := f.frag(i).more
		f.blocks.put(i - 1)
		i = next
	}
}
