package reasm

import (
	"runtime"
	"sync/atomic"

	"edemux/dataplane/packet"
)

const (
	nShards  = 64
	nBuckets = 128

	// queueCharge is what a queue counts beside its fragments' blocks.
	queueCharge = 256
)

// family is the reassembly of one IP version (fqdir).
type family struct {
	limit   int64
	timeout int64
	seed    uint64
	mem     atomic.Int64 // bytes charged
	count   atomic.Int64 // queues
	soonest atomic.Int64 // no queue expires before, as of the last reclaim
	cursor  atomic.Uint32
	blocks  arena[blockSlab]
	queues  arena[queueSlab]
	shards  [nShards]shard
}

func (f *family) init(limit, timeout int64, seed uint64) {
	f.limit, f.timeout, f.seed = limit, timeout, seed
}

// shard is the part of the queues that one lock guards.
type shard struct {
	lock  spin
	heads [nBuckets]uint32 // queues by key; index + 1 everywhere, 0 = none
	first uint32           // queues by deadline, soonest first
	last  uint32
	peers peers
	_     [64]byte
}

// spin is a lock for a bounded handful of stores.
type spin struct{ v atomic.Uint32 }

func (s *spin) acquire() {
	for i := 1; !s.v.CompareAndSwap(0, 1); i++ {
		for j := 0; j < 64 && s.v.Load() != 0; j++ {
		}
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
}

func (s *spin) release() { s.v.Store(0) }

// queue flags.
const (
	firstIn = 1 << iota
	lastIn
)

// queue is one unfinished datagram (struct inet_frag_queue).
type queue struct {
	key      key
	deadline int64
	mem      int64  // charged
	hnext    uint32 // in the bucket
	prev     uint32 // by deadline
	next     uint32
	head     uint32 // fragments by offset
	tail     uint32
	lastRun  uint32 // first fragment of the run that ends with tail
	len      uint32 // highest end seen; the total length with lastIn
	meat     uint32 // bytes seen
	rid      uint32 // the peer's count when its last fragment came
	peer     uint32
	flags    uint8
	ecn      uint8 // a bit per ECN value seen

	// Of the first fragment's frame.
	pkt   packet.PktType
	nvlan uint8
	vlans uint64
	link  packet.Flags
}

// at returns queue i.
func (f *family) at(i uint32) *queue {
	i--
	return &f.queues.slab(i / slabLen).q[i%slabLen]
}

// find returns the live queue of k in s, or 0. One past its deadline is ended
// here, as its timer would have done.
func (f *family) find(s *shard, k *key, now int64, r *Result) uint32 {
	for i := s.heads[f.bucket(k)]; i != 0; {
		q := f.at(i)
		if q.key == *k {
			if now < q.deadline {
				return i
			}
			f.expire(s, i, r)
			return 0
		}
		i = q.hnext
	}
	return 0
}

// create links a new queue for k (inet_frag_create).
func (f *family) create(s *shard, k *key, now int64) uint32 {
	i := f.queues.get() + 1
	q := f.at(i)
	*q = queue{key: *k, deadline: now + f.timeout, mem: queueCharge}
	h := &s.heads[f.bucket(k)]
	q.hnext, *h = *h, i
	f.enlist(s, i)
	if !f.v6() {
		q.peer = s.peers.get(k)
	}
	f.mem.Add(queueCharge)
	f.count.Add(1)
	return i
}

// enlist appends queue i to the deadline order: the timeout is the same for
// all, so the newest expires last.
func (f *family) enlist(s *shard, i uint32) {
	q := f.at(i)
	q.prev, q.next = s.last, 0
	if s.last != 0 {
		f.at(s.last).next = i
	} else {
		s.first = i
	}
	s.last = i
}

func (f *family) delist(s *shard, i uint32) {
	q := f.at(i)
	if q.prev != 0 {
		f.at(q.prev).next = q.next
	} else {
		s.first = q.next
	}
	if q.next != 0 {
		f.at(q.next).prev = q.prev
	} else {
		s.last = q.prev
	}
}

// unlink takes queue i out of s (inet_frag_kill). It is then the caller's.
func (f *family) unlink(s *shard, i uint32) {
	q := f.at(i)
	p := &s.heads[f.bucket(&q.key)]
	for *p != i {
		p = &f.at(*p).hnext
	}
	*p = q.hnext
	f.delist(s, i)
	if q.peer != 0 {
		s.peers.put(q.peer)
	}
	f.count.Add(-1)
}

// free gives the memory of the unlinked queue i back.
func (f *family) free(i uint32) {
	q := f.at(i)
	f.purge(q)
	f.mem.Add(-q.mem)
	f.queues.put(i - 1)
}

// purge frees the fragments of q (inet_frag_rbtree_purge).
func (f *family) purge(q *queue) {
	for i := q.head; i != 0; {
		next := f.frag(i).next
		f.freeBlocks(i)
		i = next
	}
	q.head, q.tail, q.lastRun = 0, 0, 0
	f.mem.Add(queueCharge - q.mem)
	q.mem = queueCharge
}

// kill ends queue i and all it holds.
func (f *family) kill(s *shard, i uint32) {
	f.unlink(s, i)
	f.free(i)
}
