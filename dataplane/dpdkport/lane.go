package dpdkport

import (
	"sync"

	"edemux/dataplane/dpdk"
)

// lane is what one thread sends through: a transmit queue of every port.
type lane struct {
	out   []*txRef        // by index of the port in the configuration; nil: no DPDK port
	own   []*dpdk.TxQueue // those that polls flush by themselves
	all   []*txRef
	waits bool // something is in a queue that polls do not flush

	free [32]dpdk.Mbuf // scratch of Done
}

// txRef is a lane's use of a transmit queue.
type txRef struct {
	q     *dpdk.TxQueue
	port  *Port
	lane  *lane
	mu    *sync.Mutex // nil: nobody else sends through q
	polls bool        // the polls of the lane's lcore flush q
	waits bool
}

// flushedByPolls is how many transmit queues one receive queue's polls can flush.
const flushedByPolls = 32

// lcoreLane makes the lane of polling lcore i: queue i of each port, alone when
// there are more than lcores, so that worker threads have the rest.
func (s *Set) lcoreLane(i int) *lane {
	l := &lane{out: make([]*txRef, len(s.byIndex))}
	for _, p := range s.ports {
		t := &txRef{port: p, lane: l, q: p.dev.Tx(i % p.info.TxQueues)}
		if p.info.TxQueues <= s.plan.Lcores {
			t.mu = &p.locks[i%p.info.TxQueues]
		} else if len(l.own) < flushedByPolls {
			t.polls = true
			l.own = append(l.own, t.q)
		}
		l.add(t)
	}
	return l
}

// threadLane makes the n-th lane of worker threads: one of the queues that lcores
// leave, or one that they share.
func (s *Set) threadLane(n int) *lane {
	l := &lane{out: make([]*txRef, len(s.byIndex))}
	for _, p := range s.ports {
		have, first := p.info.TxQueues, s.plan.Lcores
		if have <= first {
			first = 0
		}
		q := first + n%(have-first)
		l.add(&txRef{port: p, lane: l, q: p.dev.Tx(q), mu: &p.locks[q]})
	}
	return l
}

func (l *lane) add(t *txRef) {
	l.out[t.port.spec.Index] = t
	l.all = append(l.all, t)
}

// to is the lane's way out of a port, nil when that is no DPDK port.
func (l *lane) to(port uint16) *txRef {
	if int(port) >= len(l.out) {
		return nil
	}
	return l.out[port]
}

// put sends m, soon. What finds a full queue makes room by sending.
func (t *txRef) put(m dpdk.Mbuf) {
	if t.mu != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	if !t.q.Put(m) {
		t.q.Flush()
		t.q.Put(m)
	}
	if !t.polls {
		t.waits, t.lane.waits = true, true
	}
}

// rewrite puts the addresses of the port's own side and of its other end into a
// frame that leaves through it; false when that is too short for an Ethernet header.
func (t *txRef) rewrite(head []byte) bool {
	peer := t.port.peer.Load()
	if peer == 0 { // nobody was heard yet: what l3fwd would write
		peer = 0x02<<40 | uint64(t.port.spec.Index)
	}
	dst := [6]byte{byte(peer >> 40), byte(peer >> 32), byte(peer >> 24), byte(peer >> 16), byte(peer >> 8), byte(peer)}
	return dpdk.SetMACs(head, dst, t.port.mac)
}

// flush lets out what polls do not.
func (l *lane) flush() {
	l.waits = false
	for _, t := range l.all {
		if t.waits {
			t.flush()
		}
	}
}

func (l *lane) flushAll() {
	l.waits = false
	for _, t := range l.all {
		t.flush()
	}
}

func (t *txRef) flush() {
	t.waits = false
	if t.mu != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
	}
	t.q.Flush()
}

// release frees buffers of packets that nobody sent.
func (l *lane) release(bufs []uintptr) {
	for len(bufs) > 0 {
		n := min(len(bufs), len(l.free))
		for i, b := range bufs[:n] {
			l.free[i] = dpdk.Mbuf(b)
		}
		dpdk.FreeBurst(l.free[:n])
		bufs = bufs[n:]
	}
}
