package dataplane

import (
	"errors"

	"edemux/demux"
	"edemux/flowtable"
)

// createFlow enters the flow of the packet in hand into the table of the VRF
// that its socket lives in. False: the table is full and its policy drops.
// With the policy pass the packet is steered without an entry.
func (l *Lcore) createFlow(p *pkt, vrf *demux.VRF, f *flowtable.Flow) bool {
	h := p.q.SumIn(vrf).Hash(p.q.Dport)
	k := flowtable.KeyOf(p.q.Saddr, p.q.Daddr, p.q.Sport, p.q.Dport)
	_, err := vrf.TCP.Insert(h, &k, *f, p.now)
	if (errors.Is(err, flowtable.ErrFull) || errors.Is(err, flowtable.ErrPass)) && l.sweepAll() {
		_, err = vrf.TCP.Insert(h, &k, *f, p.now)
	}
	for tries := 0; errors.Is(err, flowtable.ErrContended) && tries < contendedTries; tries++ {
		l.c.Flows.Contended++
		_, err = vrf.TCP.Insert(h, &k, *f, p.now)
	}
	switch {
	case err == nil:
	case errors.Is(err, flowtable.ErrPass), errors.Is(err, flowtable.ErrExist):
		return true // another lcore was first: its entry serves this packet too
	default:
		return false
	}
	l.c.Flows.Created++
	if f.State == flowtable.NewSynRecv {
		l.reqs.add(f.Sock, f.Deadline, p.now)
	}
	return true
}

// contendedTries bounds how often one packet tries for a bucket that another
// lcore is changing: a change is a handful of stores.
const contendedTries = 64

// removeFlow deletes the entry of the packet in hand and gives its share of
// backlog and TIME_WAIT back.
func (l *Lcore) removeFlow(p *pkt) {
	k := flowtable.KeyOf(p.q.Saddr, p.q.Daddr, p.q.Sport, p.q.Dport)
	if old, err := l.stored(p, &k); err == nil {
		if p.space.Delete(p.ref, &k) == nil {
			l.c.Flows.Removed++
			l.forget(&old, p.now)
		}
	}
	p.ref = 0
}

// stored reads the entry as the table has it, not as the walk changed it.
func (l *Lcore) stored(p *pkt, k *flowtable.Key) (flowtable.Flow, error) {
	f, ok := p.space.Get(p.ref)
	if !ok {
		return f, flowtable.ErrGone
	}
	return f, nil
}

// Evicted takes a flow that its table removed to make room out of the counts it
// was in. Inserting lcores call it (flowtable.Limits.OnEvict).
func (e *Engine) Evicted(f *flowtable.Flow) {
	e.evicted.Add(1)
	v := e.state.Load().View
	switch f.State {
	case flowtable.NewSynRecv:
		e.reqs.remove(f.Sock, f.Deadline, 0)
	case flowtable.TimeWait:
		e.tw.move(&v.VRFs[v.Sock(f.Sock).VRF], f, &flowtable.Flow{}, 0)
	}
}

// forget takes an entry that left its table out of the counts it was in.
func (l *Lcore) forget(f *flowtable.Flow, now int64) {
	switch f.State {
	case flowtable.NewSynRecv:
		l.reqs.remove(f.Sock, f.Deadline, now)
	case flowtable.TimeWait:
		l.tw.move(l.sockVRF(f.Sock), f, &flowtable.Flow{}, now)
	}
}

// store writes the changed entry of the packet in hand back. An entry that
// another lcore removed meanwhile is not brought back.
func (l *Lcore) store(p *pkt) {
	k := flowtable.KeyOf(p.q.Saddr, p.q.Daddr, p.q.Sport, p.q.Dport)
	for range contendedTries {
		if !errors.Is(p.space.Update(p.ref, &k, p.flow), flowtable.ErrContended) {
			return
		}
		l.c.Flows.Contended++
	}
}

// sockVRF is the VRF that governs a socket, closed ones included.
func (l *Lcore) sockVRF(sock uint32) *demux.VRF {
	return &l.view.VRFs[l.view.Sock(sock).VRF]
}

// forgetHash drops the hashes of a query whose tuple changed; what was counted
// stays counted.
func forgetHash(q *demux.Query) {
	computed, saved := q.Computed, q.Saved
	q.Reset()
	q.Computed, q.Saved = computed, saved
}
