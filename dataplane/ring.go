package dataplane

import (
	"runtime"
	"sync/atomic"

	"edemux/dataplane/packet"
)

// Item is a packet on its way to a worker that polls a ring. The frame's bytes
// stay borrowed until the consumer is done with it.
type Item struct {
	Frame packet.Frame
	Meta  packet.Meta
	Data  []byte
	Buf   Buf // what holds Data; see Tx
}

// Ring is a bounded queue from the receiving lcores to one worker: many
// producers, one consumer (the array queue of D. Vyukov: each slot carries the
// turn in which it may be written or read).
type Ring struct {
	slots []ringSlot
	mask  uint64
	wait  bool // replay: the producer waits for room instead of dropping
	_     [64]byte
	tail  atomic.Uint64 // next to write
	_     [64]byte
	head  atomic.Uint64 // next to read
	_     [64]byte
}

type ringSlot struct {
	turn atomic.Uint64
	item Item
}

// NewRing makes a ring of size items, a power of two. With wait, Enqueue never
// refuses: replay loses nothing.
func NewRing(size int, wait bool) *Ring {
	r := &Ring{slots: make([]ringSlot, size), mask: uint64(size - 1), wait: wait}
	for i := range r.slots {
		r.slots[i].turn.Store(uint64(i))
	}
	return r
}

// Enqueue adds an item; any lcore may call it. False: the ring is full.
func (r *Ring) Enqueue(it Item) bool {
	for {
		t := r.tail.Load()
		s := &r.slots[t&r.mask]
		switch turn := s.turn.Load(); {
		case turn == t:
			if r.tail.CompareAndSwap(t, t+1) {
				s.item = it
				s.turn.Store(t + 1)
				return true
			}
		case turn < t && !r.wait:
			return false
		case turn < t:
			runtime.Gosched()
		}
	}
}

// Dequeue takes the oldest item; only the worker's own thread calls it.
func (r *Ring) Dequeue(it *Item) bool {
	h := r.head.Load()
	s := &r.slots[h&r.mask]
	if s.turn.Load() != h+1 {
		return false
	}
	*it = s.item
	s.item = Item{}
	s.turn.Store(h + r.mask + 1)
	r.head.Store(h + 1)
	return true
}

// Len is how many items wait.
func (r *Ring) Len() int { return int(r.tail.Load() - r.head.Load()) }

// Cap is how many items fit.
func (r *Ring) Cap() int { return len(r.slots) }
