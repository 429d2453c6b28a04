package dataplane

import (
	"slices"

	"sync/atomic"

	"edemux/dataplane/filter"
	"edemux/dataplane/packet"
	"edemux/dataplane/reasm"
	"edemux/demux"
	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// Lcore is one polling thread's part of the engine: its counters, the packet
// in hand, and references to what all lcores share. Only the owning thread
// uses it; control threads get copies of the counters through Engine.Counters.
type Lcore struct {
	e    *Engine
	st   *state // what the running burst uses, loaded once
	view *demux.View

	c        Counters
	p        pkt
	whole    reasm.Buffer // the datagram that the packet in hand completed
	fragment reasm.Fragment
	input    cbpf.Input
	ahead    ahead
	mcast    []uint32
	copies   *[]Copy
	now      int64
	swept    int64 // tick of the last sweepAll

	parseOptions packet.Options
	reasm        *reasm.Table
	reqs         *backlogs
	tw           *timeWaits
	localAuto    *LocalAuto
	lookAhead    bool
	readers      []*flowtable.Reader
	anyMAC       bool   // some port's MAC is known
	direct       []bool // workers that want nothing but their counters

	snap  snapshotCell
	epoch atomic.Uint64 // of st, for control threads

	rec     *recorder // nil: off
	taps    atomic.Pointer[[]*tapRing]
	tapped  *[]*tapRing // taps of the running burst
	subject filter.Subject
}

// begin loads the state once for the burst and makes room for what it added.
func (l *Lcore) begin(b *Burst) {
	if st := l.e.state.Load(); st != l.st {
		l.adopt(st)
	}
	b.Copies, b.Forwards = b.Copies[:0], 0
	l.copies = &b.Copies
	l.c.Bursts++
}

// end is the quiescent point: upkeep of the tables, and the counters for
// whoever asked.
func (l *Lcore) end() {
	if l.lookAhead {
		l.upkeep(stepBudget)
	}
	for _, r := range l.readers {
		r.Quiescent()
	}
	l.snap.serve(&l.c)
	l.rec.serve()
}

// stepBudget is how many entries one burst may move or look at for expiry, in
// each table: enough to keep up with an insert per packet. A replay does its
// share after every packet instead, so that growth and expiry hang on the
// packets only and not on how they fall into bursts.
const (
	stepBudget   = 2 * BurstMax
	packetBudget = 4
)

// upkeep moves and expires entries, as of the last tick: countable effects of
// time fall on ticks.
func (l *Lcore) upkeep(budget int) {
	at := l.now - l.now%tick
	for _, t := range l.st.tables {
		t.Step(budget, at)
	}
}

// sweepAll removes every entry that has expired at the last tick, so that what
// a full table refuses in a replay does not hang on how far upkeep has come. At
// most once per tick; run does not wait for it.
func (l *Lcore) sweepAll() bool {
	if l.lookAhead || l.swept == l.now/tick {
		return false
	}
	l.swept = l.now / tick
	for range 2 { // the rest of a lap under way, and a whole one
		l.upkeep(1 << 30)
	}
	return true
}

// adopt switches to a new state between bursts.
func (l *Lcore) adopt(st *state) {
	l.c.grow(st)
	if l.st == nil || len(l.st.tables) != len(st.tables) {
		for _, r := range l.readers {
			r.Close()
		}
		l.readers = l.readers[:0]
		for _, t := range st.tables {
			l.readers = append(l.readers, t.Reader())
		}
	}
	l.st, l.view = st, st.View
	l.anyMAC = slices.ContainsFunc(st.ports, func(p Port) bool { return p.Known })
	l.direct = l.direct[:0]
	for _, w := range st.workers {
		l.direct = append(l.direct, w.Ring == nil && w.Handler == HandleCount)
	}
	l.epoch.Store(st.epoch)
	l.p.q.Hasher = l.e.hasher
}

// parse reads the headers of the whole burst: pure, so it may have been done
// on another thread.
func (l *Lcore) parse(b *Burst) {
	if b.Parsed {
		return
	}
	for i := range b.N {
		packet.Parse(&b.Frames[i], &l.parseOptions, &b.Metas[i])
	}
}

// ingress maps port and tags to interfaces and applies the gates of early
// demux. Frames without an interface keep nil.
func (l *Lcore) ingress(b *Burst) {
	for i := range b.N {
		m := &b.Metas[i]
		ifc := l.view.Ingress(b.Frames[i].Port, m.VLANs, m.NVLAN)
		if b.ifaces[i] = ifc; ifc != nil {
			b.gates[i] = earlyGate(m, &l.view.VRFs[ifc.VRF].Sysctl)
		}
	}
}

// advance moves the lcore's clock forward.
func (l *Lcore) advance(now int64) { l.now = now }

// program gives the query what group programs see of the packet: the payload
// from behind the transport header, and the ancillary data.
func (l *Lcore) program(p *pkt) *demux.Query {
	if !l.view.HasPrograms {
		p.q.Prog = nil
		return &p.q
	}
	programInput(p, l.e.cfg.Secret, &l.input)
	p.q.Prog = &l.input
	return &p.q
}
