package dataplane

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"edemux/dataplane/packet"
)

// Handler says what a worker does with its packets.
type Handler uint8

const (
	HandleCount Handler = iota // count packets and bytes
	HandleTouch                // read every byte, as an application would
	HandlePcap                 // write them to a capture
	HandleEcho                 // swap the sides and send back (DPDK)
	HandlePort                 // rewrite the MACs and send on another port (DPDK)
)

// Worker is the owner of group members. Without a ring it runs to completion
// on the lcore that received the packet.
type Worker struct {
	Name    string // pool/index
	Handler Handler
	Port    uint16 // with HandlePort
	Ring    *Ring  // nil: run to completion
	Tx      Tx     // what ports do for it, set by run; nil: they send nothing
	sum     atomic.Uint64
	handled atomic.Uint64 // items taken from Ring and done with
	serving serving
}

// serving belongs to the thread that polls the worker's ring.
type serving struct {
	item Item
	done [doneBatch]Buf
	n    int
}

// doneBatch is how many buffers are given back at a time.
const doneBatch = 32

// Buf names what holds a frame's bytes at the port that it came from, such as
// the address of an mbuf. 0: the port looks after the bytes itself.
type Buf = uintptr

// Tx is what ports do for a worker: they send, and they let go of buffers that
// travel through its ring. Refused packets are freed and counted by the port.
type Tx interface {
	// Echo sends the packet back the way it came; Out sends it on port. buf is what
	// came through the ring, 0 on the lcore that received f. True: buf is theirs.
	Echo(f *packet.Frame, m *packet.Meta, buf Buf) bool
	Out(port uint16, f *packet.Frame, m *packet.Meta, buf Buf) bool
	// Keep makes the bytes of a packet last until Done: its buffer, and where they
	// are now. Unkeep takes that back when the ring is full. Receiving lcore.
	Keep(f *packet.Frame, data []byte) (Buf, []byte)
	Unkeep(f *packet.Frame, buf Buf)
	// Done frees buffers that nobody sent, and lets out what was sent. Thread of
	// the worker, whenever it has emptied its ring or handled a batch.
	Done(free []Buf)
}

// NewWorker returns worker index of a pool.
func NewWorker(pool string, index int, h Handler) *Worker {
	return &Worker{Name: fmt.Sprintf("%s/%d", pool, index), Handler: h}
}

// accept takes a packet on the receiving lcore: into the ring, or through the
// handler at once. False: the ring is full.
func (w *Worker) accept(p *pkt) bool {
	if w.Ring == nil {
		w.handle(p.f, p.m, p.data, 0)
		return true
	}
	if w.Tx == nil {
		return w.Ring.Enqueue(Item{Frame: *p.f, Meta: *p.m, Data: p.data})
	}
	buf, data := w.Tx.Keep(p.f, p.data)
	if !w.Ring.Enqueue(Item{Frame: *p.f, Meta: *p.m, Data: data, Buf: buf}) {
		w.Tx.Unkeep(p.f, buf)
		return false
	}
	return true
}

// handle does with a packet what the worker is there for. True: buf is sent.
func (w *Worker) handle(f *packet.Frame, m *packet.Meta, data []byte, buf Buf) bool {
	switch w.Handler {
	case HandleTouch:
		w.sum.Add(touch(data))
	case HandleEcho:
		return w.Tx != nil && w.Tx.Echo(f, m, buf)
	case HandlePort:
		return w.Tx != nil && w.Tx.Out(w.Port, f, m, buf)
	}
	return false
}

// Poll takes packets from the worker's ring until stop, on the worker's own
// thread. It naps when the ring stays empty.
func (w *Worker) Poll(stop *atomic.Bool) {
	for idle := 0; ; idle++ {
		for w.Serve(pollBudget) > 0 {
			idle = 0
		}
		switch {
		case stop.Load():
			return
		case idle > spinsBeforeNap:
			time.Sleep(workerNap)
		default:
			runtime.Gosched()
		}
	}
}

// An idle worker looks again at once for a while, then takes short naps.
const (
	spinsBeforeNap = 1000
	workerNap      = 20 * time.Microsecond
	pollBudget     = 256
)

// Wait returns when everything that was put into the ring so far is handled.
func (w *Worker) Wait() {
	for w.handled.Load() < w.Ring.tail.Load() {
		runtime.Gosched()
	}
}

// touch reads every byte.
func touch(b []byte) (sum uint64) {
	for _, c := range b {
		sum += uint64(c)
	}
	return sum
}
