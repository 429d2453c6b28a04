package dataplane

import (
	"sync"
	"sync/atomic"
	"time"

	"edemux/dataplane/packet"
)

// RecordSnap is how many bytes of a frame the flight recorder keeps: Ethernet
// with two tags, IPv6 and TCP fit.
const RecordSnap = 88

// Record is one decision in the flight recorder, two cache lines.
type Record struct {
	Decision
	TS      int64
	WireLen uint32
	Port    uint16
	Link    uint16
	CPU     uint16
	TCI     uint16
	Copies  uint8 // extra copies of a multicast datagram, 255 for more
	Cap     uint8 // bytes in Data
	Flags   uint8 // tagStripped
	Dir     packet.Dir
	Data    [RecordSnap]byte
}

const tagStripped = 1

// Frame makes a frame of what was kept. It borrows r.
func (r *Record) Frame() packet.Frame {
	return packet.Frame{
		Data: r.Data[:r.Cap], TS: r.TS, WireLen: r.WireLen, Port: r.Port, Link: r.Link, CPU: r.CPU,
		Dir: r.Dir, VLANStripped: r.Flags&tagStripped != 0, TCI: r.TCI,
	}
}

// recorder is the flight recorder of one lcore: the latest decisions with the
// first bytes of their frames. A dump swaps the whole ring at a burst boundary
// for one that the asker brought, so that reading races with nothing and costs
// the lcore a few words.
type recorder struct {
	size int
	seen atomic.Uint64 // next of the ring, for control threads
	ring *recordRing
	want atomic.Pointer[recordRing]
	got  chan *recordRing
	mu   sync.Mutex // one dump at a time
	kept []Record   // of earlier dumps, under mu
}

type recordRing struct {
	all  []Record
	next uint64 // records so far, this ring and those before it
	from uint64 // value of next when the ring was put in
}

// EnableRecorder makes the lcore remember its last n decisions, a power of two.
// Before Start.
func (l *Lcore) EnableRecorder(n int) {
	l.rec = &recorder{size: n, ring: &recordRing{all: make([]Record, n)}, got: make(chan *recordRing, 1)}
}

// Recorded is how many decisions the flight recorder has seen. Any thread; it
// lags by up to a burst.
func (l *Lcore) Recorded() uint64 {
	if l.rec == nil {
		return 0
	}
	return l.rec.seen.Load()
}

// keep copies the first bytes of the burst's frames before the walk, as workers
// may change or free them.
func (r *recorder) keep(b *Burst) {
	g := r.ring
	mask := uint64(len(g.all) - 1)
	for i := range b.N {
		f, x := &b.Frames[i], &g.all[(g.next+uint64(i))&mask]
		x.Cap = uint8(copy(x.Data[:], f.Data))
		x.TS, x.WireLen = f.TS, f.WireLen
		x.Port, x.Link, x.CPU, x.TCI, x.Dir = f.Port, f.Link, f.CPU, f.TCI, f.Dir
		x.Copies, x.Flags = 0, 0
		if f.VLANStripped {
			x.Flags = tagStripped
		}
	}
}

// decide adds the decisions.
func (r *recorder) decide(b *Burst) {
	g := r.ring
	mask := uint64(len(g.all) - 1)
	for i := range b.N {
		g.all[(g.next+uint64(i))&mask].Decision = b.Dec[i]
	}
	for i := range b.Copies {
		x := &g.all[(g.next+uint64(b.Copies[i].Frame))&mask]
		x.Copies = min(x.Copies, 254) + 1
	}
	g.next += uint64(b.N)
	r.seen.Store(g.next)
}

// serve gives the ring to whoever asked, between bursts.
func (r *recorder) serve() {
	if r == nil {
		return
	}
	fresh := r.want.Load()
	if fresh == nil || !r.want.CompareAndSwap(fresh, nil) {
		return
	}
	old := r.ring
	fresh.next, fresh.from = old.next, old.next
	r.ring = fresh
	r.got <- old
}

// Records returns the last decisions of the lcore, oldest first, nil without a
// recorder or when the lcore does not come by. Control threads.
func (l *Lcore) Records() []Record {
	r := l.rec
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := &recordRing{all: make([]Record, r.size)}
	r.want.Store(fresh)
	if !l.snap.running.Load() {
		r.serve()
	}
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case g := <-r.got:
		r.kept = g.after(r.kept)
	case <-late.C:
		if !r.want.CompareAndSwap(fresh, nil) {
			r.kept = (<-r.got).after(r.kept)
		}
	}
	return r.kept
}

// after returns the last records of those of earlier rings and of this one.
func (g *recordRing) after(old []Record) []Record {
	n := uint64(len(g.all))
	have := min(g.next-g.from, n)
	keep := min(n-have, uint64(len(old)))
	all := append(make([]Record, 0, keep+have), old[uint64(len(old))-keep:]...)
	for i := g.next - have; i < g.next; i++ {
		all = append(all, g.all[i&(n-1)])
	}
	return all
}
