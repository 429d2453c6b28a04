package daemon

import (
	"errors"
	"fmt"
	"time"

	"edemux/cli/control"
	"edemux/cli/replay"
	"edemux/dataplane"
)

// stop ends in order: lcores finish the bursts in hand, workers empty their
// rings, the accounts are printed.
func (d *Daemon) stop() error {
	d.stopLcores.Store(true)
	err := wait(&d.polling, "lcores did not stop")
	for _, t := range d.threads() {
		for _, w := range t.workers {
			if !w.Settle(drainTime) {
				err = errors.Join(err, fmt.Errorf("run: worker %s: %d packets left in its ring", w.Name, w.Ring.Len()))
			}
		}
	}
	d.stopWorkers.Store(true)
	err = errors.Join(err, wait(&d.serving, "workers did not stop"))
	if err != nil || d.o.Quiet {
		return err
	}
	return d.accounts()
}

type waiter interface{ Wait() }

// wait waits for threads, but not for ever.
func wait(w waiter, late string) error {
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(drainTime):
		return fmt.Errorf("run: %s within %s", late, drainTime)
	}
}

// accounts prints what `replay` would print.
func (d *Daemon) accounts() error {
	c := d.host.Engine.Counters()
	in := replay.Input{Frames: c.Frames, Bytes: c.Bytes, Captures: len(d.ports)}
	s := replay.Summarize(d.host.Engine, in)
	s.Timing = replay.Timing{Elapsed: time.Since(d.start).Seconds(), Engine: "go", Lcores: len(d.lcores)}
	if d.backend != nil {
		s.Engine = "dpdk"
	}
	if s.Elapsed > 0 {
		s.PPS = float64(c.Frames) / s.Elapsed
	}
	return s.WriteHuman(d.o.Stdout, d.host.Assumed)
}

// crashed writes the flight recorder.
func (d *Daemon) crashed() {
	if !d.o.Recorder {
		return
	}
	var all []*dataplane.Lcore
	for _, l := range d.lcores {
		all = append(all, l.Lcore)
	}
	name, err := control.DumpRecorder(d.o.CrashDir, d.host.Engine, all)
	if err != nil {
		d.log.Error("flight recorder", "error", err)
		return
	}
	d.log.Error("flight recorder", "file", name)
}

// close gives back what open took.
func (d *Daemon) close() {
	for _, s := range d.servers {
		_ = s.Close() // on the way out
	}
	if d.metrics != nil {
		_ = d.metrics.Close()
	}
	if d.state != nil {
		d.state.Close()
	}
	for _, p := range d.ports {
		if p != nil {
			if err := p.Close(); err != nil {
				d.log.Error("close", "error", err)
			}
		}
	}
	if d.backend != nil {
		if err := d.backend.Close(); err != nil {
			d.log.Error("close", "error", err)
		}
	}
}
