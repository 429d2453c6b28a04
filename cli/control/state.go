package control

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"edemux/cli/setup"
	"edemux/dataplane"
	"edemux/dataplane/port"
)

// Runtime is what the daemon tells and does. Its methods may be called from any
// goroutine.
type Runtime interface {
	// Lcores are the polling threads, in order.
	Lcores() []LcoreInfo
	// Ports are the open ports, by their index in the configuration.
	Ports() []port.Port
	// WorkerCPU is the CPU that polls the ring of a worker, -1 when there is no
	// ring or its thread is not pinned.
	WorkerCPU(worker int) int
	// Serve makes threads poll the rings of workers that are new, on these CPUs.
	Serve(workers []*dataplane.Worker, cpus []int)
	// Shutdown begins an orderly stop and returns at once.
	Shutdown(why string)
}

// LcoreInfo describes a polling thread.
type LcoreInfo struct {
	Lcore  *dataplane.Lcore
	CPU    int    // -1: not pinned
	State  string // polling, stopped, failed
	Queues []QueueRef
}

// QueueRef names a receive queue.
type QueueRef struct{ Port, Queue int }

// Options are what a State is made of.
type Options struct {
	Host    *setup.Host
	Runtime Runtime
	Clock   func() int64 // of the lcores, ns
	Version Version      // PID and Started are filled in
	Text    string       // of the configuration file
}

// State is the running engine as the control socket sees it.
type State struct {
	o       Options
	started time.Time

	// mu serializes what changes the engine, and guards Host, Config and Builder.
	mu     sync.Mutex
	config Config

	ifaces atomic.Pointer[[]string] // names of the interfaces
	turns  *serverTurns
	snaps  snapshots
	flows  flowPages
	sample sync.Once
	stop   chan struct{}
}

// NewState returns the state of an engine that is about to run.
func NewState(o Options) *State {
	s := &State{o: o, started: time.Now(), turns: newTurns(), stop: make(chan struct{})}
	s.o.Version.API, s.o.Version.Started = "v1", s.started
	s.config = Config{File: o.Host.Config.File, Loaded: s.started, Text: o.Text, Changes: []string{}}
	s.interfaces()
	return s
}

// interfaces takes note of the interfaces. Under mu, or before the start.
func (s *State) interfaces() {
	all := s.o.Host.Interfaces()
	s.ifaces.Store(&all)
}

// Start begins to take a snapshot each second, from which rates are computed.
func (s *State) Start() {
	s.sample.Do(func() {
		s.snaps.sampled(s)
		go func() {
			t := time.NewTicker(time.Second)
			defer t.Stop()
			for {
				select {
				case <-t.C:
					s.snaps.sampled(s)
				case <-s.stop:
					return
				}
			}
		}()
	})
}

// Close ends what Start began.
func (s *State) Close() { close(s.stop) }

// maxChanges bounds the list of changes in GET /v1/config.
const maxChanges = 1000

// note remembers a change. Under mu.
func (s *State) note(format string, args ...any) {
	if len(s.config.Changes) == maxChanges {
		s.config.Changes = append(s.config.Changes[:0], s.config.Changes[1:]...)
		s.config.Dropped++
	}
	s.config.Changes = append(s.config.Changes, fmt.Sprintf(format, args...))
}
