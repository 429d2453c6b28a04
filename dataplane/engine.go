package dataplane

import (
	"sync"
	"sync/atomic"

	"edemux/dataplane/packet"
	"edemux/dataplane/reasm"
	"edemux/demux"
	"edemux/flowtable"
)

// Config is what an engine is made of.
type Config struct {
	Hasher    *flowtable.Hasher
	Secret    flowtable.Secret // seeds `rand` of programs
	Builder   *demux.Builder
	Tables    []*flowtable.Table // every table that a VRF of the Builder uses
	Ports     []Port
	Workers   []*Worker
	Parse     packet.Options
	FragBytes int64
	LocalAuto *LocalAuto // guess directions; nil: by the view's addresses
	// LookAhead hashes and prefetches for the whole burst before the first
	// decision. Off in replay, where a hash is to be computed only for packets
	// that turn out to need it, however frames fall into bursts.
	LookAhead bool
}

// Port is a port as the walk sees it.
type Port struct {
	Name  string
	MAC   uint64 // 48 bits; valid if Known
	Known bool
}

// state is what a burst uses: everything that control code replaces as a
// whole. Immutable once stored.
type state struct {
	View    *demux.View
	names   *Names
	ports   []Port
	workers []*Worker
	tables  []*flowtable.Table
	worker  []uint32 // of each socket that ever lived, by SockID
	rxDst   []uint32 // route stamp of each connected UDP socket, written by lcores
	groups  []string // name of each group that ever lived
	members []int    // most members that each group ever had
	gone    []uint32 // sockets that the view before had
	epoch   uint64   // one more than that of the state before
}

// Engine ties views, tables, workers and lcores together. Its methods are for
// control code; edits of the Builder and Publish are serialized by the caller.
type Engine struct {
	cfg     Config
	hasher  *flowtable.Hasher
	state   atomic.Pointer[state]
	reasm   *reasm.Table
	reqs    backlogs
	tw      timeWaits
	evicted atomic.Uint64

	mu     sync.Mutex
	lcores []*Lcore
}

// New makes an engine and publishes the Builder's first view.
func New(cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg, hasher: cfg.Hasher}
	e.reasm = reasm.New(reasm.Config{Bytes: cfg.FragBytes})
	if err := e.Publish(); err != nil {
		return nil, err
	}
	return e, nil
}

// Publish makes the Builder's edits visible to every lcore at its next burst
// and brings the flow tables in line with the connected sockets.
func (e *Engine) Publish() error {
	v := e.cfg.Builder.Publish()
	old := e.state.Load()
	st := &state{View: v, ports: e.cfg.Ports, workers: e.cfg.Workers, tables: e.cfg.Tables}
	e.tw.grow(len(v.VRFs))
	e.sockets(st, old)
	st.epoch = 1
	if old != nil {
		st.epoch = old.epoch + 1
	}
	st.names = e.newNames(st, old)
	for i := range v.Groups() {
		name := v.GroupName(i)
		if v.Group(i) == nil && old != nil && i < len(old.groups) {
			name = old.groups[i]
		}
		st.groups = append(st.groups, name)
		n := v.GroupSize(i)
		if old != nil && i < len(old.members) {
			n = max(n, old.members[i])
		}
		st.members = append(st.members, n)
	}
	ops := e.cfg.Builder.TakeFlowOps()
	e.state.Store(st)
	err := e.connectFlows(v, ops)
	e.disconnectFlows(v, ops)
	return err
}

// sockets fills the arrays by SockID. Sockets that are gone keep their worker:
// flows of theirs may live on.
func (e *Engine) sockets(st, old *state) {
	n := st.View.MaxSock()
	st.worker, st.rxDst = make([]uint32, n), make([]uint32, n)
	if old != nil {
		copy(st.worker, old.worker)
		old.View.Socks(func(id demux.SockID, _ *demux.Sock) bool {
			if !st.View.Sock(id).Alive() {
				st.gone = append(st.gone, id)
			}
			return true
		})
		st.rxDst = old.rxDst
		if len(old.rxDst) < n {
			st.rxDst = make([]uint32, n)
			copyStamps(st.rxDst, old.rxDst)
		}
	}
	st.View.Socks(func(id demux.SockID, s *demux.Sock) bool {
		st.worker[id] = s.Worker
		if s.Has(demux.Listening) {
			e.reqs.listen(id)
		}
		return true
	})
}

// copyStamps copies route stamps that lcores may be writing: a lost one costs
// one route lookup.
func copyStamps(dst, src []uint32) {
	for i := range src {
		dst[i] = atomic.LoadUint32(&src[i])
	}
}

// AddPort adds a port that was not known at the start and returns its number.
// Its interface comes with the Builder's next view.
func (e *Engine) AddPort(p Port) int {
	e.cfg.Ports = append(e.cfg.Ports[:len(e.cfg.Ports):len(e.cfg.Ports)], p)
	return len(e.cfg.Ports) - 1
}

// NewLcore returns the part of the engine for one polling thread.
func (e *Engine) NewLcore() *Lcore {
	l := &Lcore{
		e: e, parseOptions: e.cfg.Parse, reasm: e.reasm, reqs: &e.reqs, tw: &e.tw,
		localAuto: e.cfg.LocalAuto, lookAhead: e.cfg.LookAhead,
	}
	l.snap.init()
	l.adopt(e.state.Load())
	e.mu.Lock()
	e.lcores = append(e.lcores, l)
	e.mu.Unlock()
	return l
}

// View is the present view.
func (e *Engine) View() *demux.View { return e.state.Load().View }

// Names are the names that hold now.
func (e *Engine) Names() *Names { return e.state.Load().names }

// Workers are all workers, by global index.
func (e *Engine) Workers() []*Worker { return e.state.Load().workers }

// Ports are all ports, by number.
func (e *Engine) Ports() []Port { return e.state.Load().ports }

// GroupNames are the names of all groups that ever lived, by index.
func (e *Engine) GroupNames() []string { return e.state.Load().groups }

// Counters sums the accounts of all lcores, each as of a burst boundary.
func (e *Engine) Counters() *Counters {
	e.mu.Lock()
	lcores := e.lcores
	e.mu.Unlock()
	sum := new(Counters)
	sum.grow(e.state.Load())
	for _, l := range lcores {
		c, _ := l.Snapshot()
		sum.Add(c)
	}
	sum.Flows.Evicted += e.evicted.Load()
	return sum
}

// Now is the latest clock of the lcores at rest, ns.
func (e *Engine) Now() (now int64) {
	for _, l := range e.lcores {
		now = max(now, l.now)
	}
	return now
}

// Flows calls f for every flow of a VRF that has not expired at the engine's
// clock, TCP first. The engine may run; see flowtable.Space.All.
func (e *Engine) Flows(vrf int, now int64, f func(proto uint8, k flowtable.Key, fl flowtable.Flow) bool) {
	v := &e.View().VRFs[vrf]
	more := true
	visit := func(proto uint8) func(flowtable.Key, flowtable.Flow) bool {
		return func(k flowtable.Key, fl flowtable.Flow) bool {
			if fl.Deadline == 0 || fl.Deadline > now {
				more = f(proto, k, fl)
			}
			return more
		}
	}
	v.TCP.All(visit(demux.TCP))
	if more {
		v.UDP.All(visit(demux.UDP))
	}
}

// VRFFlows counts the live flows of each VRF.
func (e *Engine) VRFFlows() []uint64 {
	now := e.Now()
	n := make([]uint64, len(e.View().VRFs))
	for i := range n {
		e.Flows(i, now, func(uint8, flowtable.Key, flowtable.Flow) bool { n[i]++; return true })
	}
	return n
}

// TableBytes is the memory of all flow tables.
func (e *Engine) TableBytes() (n uint64) {
	for _, t := range e.cfg.Tables {
		n += t.Stats().Bytes
	}
	return n
}
