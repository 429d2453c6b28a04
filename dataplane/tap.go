package dataplane

import (
	"slices"
	"sync/atomic"

	"edemux/dataplane/filter"
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
)

// Bounds of a live capture: packets that one lcore can have waiting, and bytes
// kept of each.
const (
	TapSlots = 1024
	TapSnap  = 2048
)

// Captured is a packet that a tap took, with its decision and the names that
// held then.
type Captured struct {
	Decision
	Frame  packet.Frame // Data: the first TapSnap bytes
	Names  *Names
	Copies int // extra copies of a multicast datagram
	room   []byte
}

// Tap is a live capture. Each lcore puts matching packets into a bounded ring
// of its own; what finds it full is counted and lost, never waited for.
type Tap struct {
	filter *filter.Filter
	rings  []*tapRing // by lcore
}

// tapRing goes from one lcore to one reader.
type tapRing struct {
	filter *filter.Filter
	slots  []Captured
	staged int
	missed atomic.Uint64
	tail   atomic.Uint64 // next to write
	_      [64]byte
	head   atomic.Uint64 // next to read
}

// Attach starts a capture of the packets that match f on every lcore. f knows
// filter.DecisionFields. Control threads.
func (e *Engine) Attach(f *filter.Filter) *Tap {
	t := &Tap{filter: f}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lcores {
		r := &tapRing{filter: f, slots: make([]Captured, TapSlots)}
		room := make([]byte, TapSlots*TapSnap)
		for i := range r.slots {
			r.slots[i].room = room[i*TapSnap : (i+1)*TapSnap : (i+1)*TapSnap]
		}
		t.rings = append(t.rings, r)
		var set []*tapRing
		if p := l.taps.Load(); p != nil {
			set = *p
		}
		set = append(slices.Clone(set), r)
		l.taps.Store(&set)
	}
	return t
}

// Detach ends a capture. What was taken can still be read.
func (e *Engine) Detach(t *Tap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.lcores {
		p := l.taps.Load()
		if p == nil {
			continue
		}
		set := slices.DeleteFunc(slices.Clone(*p), func(r *tapRing) bool { return slices.Contains(t.rings, r) })
		if len(set) == 0 {
			l.taps.Store(nil)
		} else {
			l.taps.Store(&set)
		}
	}
}

// Missed counts the packets that matched and were lost.
func (t *Tap) Missed() (n uint64) {
	for _, r := range t.rings {
		n += r.missed.Load()
	}
	return n
}

// Read calls f for what was taken since the last Read, until f returns false,
// lcore by lcore. c is borrowed until f returns. One goroutine at a time.
func (t *Tap) Read(f func(c *Captured) bool) (n int) {
	for _, r := range t.rings {
		for h := r.head.Load(); h < r.tail.Load(); h++ {
			more := f(&r.slots[h%TapSlots])
			r.head.Store(h + 1)
			n++
			if !more {
				return n
			}
		}
	}
	return n
}

// stage copies the frames of a burst before the walk into the free slots:
// workers may change or free them.
func (r *tapRing) stage(b *Burst) {
	t := r.tail.Load()
	r.staged = min(b.N, int(TapSlots-(t-r.head.Load())))
	for i := range r.staged {
		c, f := &r.slots[(t+uint64(i))%TapSlots], &b.Frames[i]
		c.Frame = *f
		c.Frame.Data = c.room[:copy(c.room, f.Data)]
	}
}

// decide keeps the staged frames that match.
func (r *tapRing) decide(l *Lcore, b *Burst, s *filter.Subject) {
	t := r.tail.Load()
	to := t
	for i := range b.N {
		if !l.matches(r.filter, b, i, s) {
			continue
		}
		if i >= r.staged {
			r.missed.Add(1)
			continue
		}
		c, from := &r.slots[to%TapSlots], &r.slots[(t+uint64(i))%TapSlots]
		if c != from {
			c.Frame, from.Frame = from.Frame, c.Frame
			c.room, from.room = from.room, c.room
		}
		c.Decision, c.Names, c.Copies = b.Dec[i], l.st.names, 0
		for j := range b.Copies {
			if b.Copies[j].Frame == i {
				c.Copies++
			}
		}
		to++
	}
	r.tail.Store(to)
}

// matches asks the filter about frame i of a walked burst. The names of sockets
// that were opened in bulk would have to be formatted; those packets are taken
// and the reader asks again, with Matches.
func (l *Lcore) matches(f *filter.Filter, b *Burst, i int, s *filter.Subject) bool {
	if f == nil {
		return true
	}
	d := &b.Dec[i]
	if d.Sock != 0 && f.Fields()&filter.FieldSocket != 0 {
		info := l.view.Info(d.Sock)
		if info == nil {
			return true
		}
		s.Socket = info.Name
	} else {
		s.Socket = ""
	}
	s.SetMeta(&b.Metas[i])
	fillSubject(s, d, l.st.names)
	return f.Match(s)
}

// Matches asks the tap's filter again, with every name. m is scratch.
func (t *Tap) Matches(c *Captured, m *packet.Meta) bool {
	if t.filter == nil {
		return true
	}
	var s filter.Subject
	packet.Parse(&c.Frame, &packet.Options{}, m)
	s.SetMeta(m)
	s.Socket = c.Names.Sock(c.Sock)
	fillSubject(&s, &c.Decision, c.Names)
	return t.filter.Match(&s)
}

// fillSubject sets what a filter may ask of a decision, but the socket.
func fillSubject(s *filter.Subject, d *Decision, n *Names) {
	s.VRF, s.Worker = n.VRF(d.VRF), n.Worker(d.Worker)
	s.Verdict, s.Reason, s.Path = d.Verdict.String(), "", ""
	if d.Path != 0 {
		s.Path = d.Path.String()
	}
	switch d.Verdict {
	case mib.Drop:
		s.Reason = d.Reason.String()
	case mib.Punt:
		s.Reason = d.Punt.String()
	}
}

// watch keeps the bytes of a burst for the flight recorder and live captures.
func (l *Lcore) watch(b *Burst) {
	if l.rec != nil {
		l.rec.keep(b)
	}
	l.tapped = l.taps.Load()
	if l.tapped != nil {
		for _, r := range *l.tapped {
			r.stage(b)
		}
	}
}

// tell adds the decisions to what watch kept.
func (l *Lcore) tell(b *Burst) {
	if l.rec != nil {
		l.rec.decide(b)
	}
	if l.tapped != nil {
		for _, r := range *l.tapped {
			r.decide(l, b, &l.subject)
		}
	}
}
