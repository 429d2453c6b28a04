package daemon

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"edemux/cli/control"
	"edemux/dataplane"
	"edemux/dataplane/port"
)

// queueRef is a queue with its name.
type queueRef struct {
	port.RxQueue
	port, queue int
	forward     forwarder // nil: what is to be forwarded stays here
}

// States of an lcore.
const (
	stateStarting int32 = iota
	statePolling
	stateStopped
	stateFailed
)

var stateNames = [...]string{"starting", "polling", "stopped", "failed"}

// lcore is a polling thread.
type lcore struct {
	*dataplane.Lcore
	index, cpu int
	pinned     atomic.Bool
	state      atomic.Int32
	queues     []queueRef
	clock      func() int64
	polled     func() // after the first round
}

// An lcore whose queues are empty looks again at once for a while, then takes
// naps that grow: a frame waits at most one nap, a second costs an idle lcore
// little, and a runtime that wants to stop the world never waits for one.
const (
	spinPolls = 256
	shortNap  = 20 * time.Microsecond
	longNap   = 500 * time.Microsecond
	restPolls = 2000 // short naps before the long ones
	gapWindow = int64(10 * time.Second)
)

// launch starts an lcore on its thread.
func (d *Daemon) launch(l *lcore) {
	run := func() {
		defer d.polling.Done()
		d.guard(fmt.Sprintf("lcore %d", l.index), func() {
			l.state.Store(stateFailed)
			l.Stop()
		}, func() {
			l.Start()
			l.state.Store(statePolling)
			l.poll(&d.stopLcores)
			l.state.Store(stateStopped)
			l.Stop()
		})
		l.first()
	}
	d.polling.Add(1)
	if d.backend != nil {
		if err := d.backend.Launch(l.index, run); err != nil {
			d.polling.Done()
			l.state.Store(stateFailed)
			l.first()
			d.fail(fmt.Errorf("run: lcore %d: %w", l.index, err))
			return
		}
		l.pinned.Store(l.cpu >= 0)
		return
	}
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		l.pinned.Store(d.pin(l.cpu, fmt.Sprintf("lcore %d", l.index)))
		run()
	}()
}

// first says once that the lcore came as far as it could.
func (l *lcore) first() {
	if l.polled != nil {
		l.polled()
		l.polled = nil
	}
}

// poll takes bursts from the queues in turn until stop.
func (l *lcore) poll(stop *atomic.Bool) {
	b := dataplane.NewBurst()
	c := l.Poll()
	now := l.clock()
	window := now
	for idle := 0; !stop.Load(); {
		got := l.round(b, c, now)
		then := now
		now = l.clock()
		c.Gap(uint64(now - then))
		if got > 0 {
			c.BusyNs += uint64(now - then)
			idle = 0
		} else {
			c.IdleNs += uint64(now - then)
			if idle++; idle > spinPolls {
				now = l.nap(c, now, idle)
			}
		}
		if now-window > gapWindow {
			window = now
			c.GapLast, c.GapNow = c.GapNow, 0
		}
		if l.polled != nil {
			l.first()
		}
	}
	for i := range l.queues {
		l.queues[i].Free()
	}
}

// round polls every queue once and returns the number of frames.
func (l *lcore) round(b *dataplane.Burst, c *dataplane.PollCounters, now int64) (got int) {
	for i := range l.queues {
		frames := l.queues[i].RxBurst(now)
		if len(frames) == 0 {
			continue
		}
		b.Frames, b.N = frames, len(frames)
		c.Took(b.N)
		l.Walk(b, now)
		if b.Forwards > 0 && l.queues[i].forward != nil {
			l.sendOn(b, l.queues[i].forward)
		}
		got += b.N
	}
	if got == 0 {
		l.Idle(now)
	}
	return got
}

// sendOn gives the frames of a walked burst that are to be forwarded back to their
// queue, which sends them.
func (l *lcore) sendOn(b *dataplane.Burst, q forwarder) {
	for i := range b.N {
		if via := l.Egress(b, i); via != nil {
			q.Forward(i, b.Metas[i].L3, via.Port, via.Name)
		}
	}
}

// nap sleeps and returns the time after it.
func (l *lcore) nap(c *dataplane.PollCounters, now int64, idle int) int64 {
	if idle < restPolls {
		time.Sleep(shortNap)
	} else {
		time.Sleep(longNap)
	}
	then := now
	now = l.clock()
	c.IdleNs += uint64(now - then)
	c.Naps++
	return now
}

// guard runs f; a panic becomes an error with its stack and an orderly stop.
func (d *Daemon) guard(what string, failed, f func()) {
	debug.SetPanicOnFault(true) // flow tables are off the heap: a wild reference is a panic like any other
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		d.log.Error("panic", "thread", what, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		failed()
		d.fail(&crash{fmt.Errorf("run: %s: panic: %v", what, r)})
	}()
	f()
}

// crash marks errors after which the flight recorder is written.
type crash struct{ error }

// Lcores describes the polling threads.
func (d *Daemon) Lcores() []control.LcoreInfo {
	all := make([]control.LcoreInfo, len(d.lcores))
	for i, l := range d.lcores {
		all[i] = control.LcoreInfo{Lcore: l.Lcore, CPU: -1, State: stateNames[l.state.Load()]}
		if l.pinned.Load() {
			all[i].CPU = l.cpu
		}
		for _, q := range l.queues {
			all[i].Queues = append(all[i].Queues, control.QueueRef{Port: q.port, Queue: q.queue})
		}
	}
	return all
}

// Ports are the open ports.
func (d *Daemon) Ports() []port.Port { return d.ports }
