package dpdkport

import (
	"edemux/dataplane/dpdk"
	"edemux/dataplane/packet"
	"edemux/dataplane/port"
)

// Queue is one receive queue, polled by one lcore.
type Queue struct {
	rx     *dpdk.RxQueue
	port   *Port
	number int
	set    *Set
	lane   *lane  // what its lcore sends through; nil: not bound, nothing is sent
	peer   uint64 // what was last told to port.peer
	last   port.QueueStats
	closed bool
}

// bind gives the queue to the lcore of that lane.
func (q *Queue) bind(s *Set, l *lane) {
	q.set, q.lane = s, l
	q.rx.Flushes(l.own...) // as many as a queue can take; the others go through flush
}

// RxBurst gives the burst before back, sends what waits to be sent, and receives the
// next burst, in one crossing. Frames carry the clock of DPDK, not now.
func (q *Queue) RxBurst(int64) []packet.Frame {
	if q.lane != nil && q.lane.waits {
		q.lane.flush()
	}
	frames := q.rx.Poll()
	if len(frames) > 0 {
		q.learn(frames[0].Data)
	}
	return frames
}

// learn remembers who is at the other end: there is no neighbour table, and packets
// that leave through this port go to whom packets came from last.
func (q *Queue) learn(b []byte) {
	if len(b) < 12 {
		return
	}
	src := uint64(b[6])<<40 | uint64(b[7])<<32 | uint64(b[8])<<24 | uint64(b[9])<<16 | uint64(b[10])<<8 | uint64(b[11])
	if src != q.peer && src>>40&1 == 0 {
		q.peer = src
		q.port.peer.Store(src)
	}
}

// Free gives the frames in hand back and lets out everything that waits.
func (q *Queue) Free() {
	q.rx.Release()
	if q.lane != nil {
		q.lane.flushAll()
	}
}

// Done is false: a device is never done.
func (q *Queue) Done() bool { return false }

// Stats returns the queue's counters.
func (q *Queue) Stats() port.QueueStats {
	q.port.mu.Lock()
	defer q.port.mu.Unlock()
	if !q.closed {
		s := q.rx.Stats()
		q.last = port.QueueStats{Frames: s.Packets, Bytes: s.Bytes}
	}
	return q.last
}

// close keeps the counters of a queue that goes; under the port's lock.
func (q *Queue) close() {
	s := q.rx.Stats()
	q.last = port.QueueStats{Frames: s.Packets, Bytes: s.Bytes}
	q.closed = true
}
