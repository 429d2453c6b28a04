package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"edemux/cli/config"
	"edemux/cli/control"
	"edemux/cli/exit"
	"edemux/cli/metrics"
	"edemux/cli/setup"
	"edemux/dataplane/port"
)

// Daemon is a running edemux.
type Daemon struct {
	o       *Options
	log     *slog.Logger
	host    *setup.Host
	clock   func() int64
	backend Backend // nil: locked goroutines poll

	ports     []port.Port
	lcores    []*lcore
	workersMu sync.Mutex
	workers   []*workerThread

	state   *control.State
	servers []*control.Server
	metrics *metrics.Server

	stopLcores, stopWorkers atomic.Bool
	polling, serving        sync.WaitGroup
	ready                   atomic.Bool
	why                     chan string // reasons to stop
	failed                  chan error
	start                   time.Time
}

// Run runs the daemon until ctx ends, a client asks it to stop, or something
// fails. signals after the first are the caller's business.
func Run(ctx context.Context, o *Options) error {
	d := &Daemon{o: o, log: newLogger(o), why: make(chan string, 1), failed: make(chan error, 1)}
	if err := d.open(); err != nil {
		d.close()
		return err
	}
	defer d.close()
	if o.onOpen != nil {
		o.onOpen(d)
	}
	d.run()
	d.notify("READY=1\nSTATUS=polling")
	if o.onStarted != nil {
		o.onStarted(d)
	}
	err := d.wait(ctx)
	d.ready.Store(false)
	d.notify("STOPPING=1")
	stopErr := d.stop()
	var c *crash
	if errors.As(err, &c) {
		d.crashed()
		return c.error
	}
	if err == nil {
		err = stopErr
	}
	return err
}

// open makes everything that can fail.
func (d *Daemon) open() (err error) {
	if d.o.Config == "" {
		return exit.Usagef("run: want a configuration: -c FILE (see edemux example)")
	}
	text, err := os.ReadFile(d.o.Config)
	if err != nil {
		return exit.Usagef("run: %s: %v", d.o.Config, pathReason(err))
	}
	if d.host, err = setup.Open(setup.Options{File: d.o.Config, Sets: d.o.Sets, Command: "run", Live: true}); err != nil {
		return err
	}
	for _, w := range d.host.Config.Warnings {
		d.log.Warn("configuration", "warning", w.String())
	}
	d.clock = wallClock()
	if err := d.openPorts(); err != nil {
		return err
	}
	d.assign()
	d.workers = group(d.host.RingWorkers())
	d.state = control.NewState(control.Options{
		Host: d.host, Runtime: d, Clock: d.clock, Text: string(text),
		Version: control.Version{Edemux: d.o.Version, Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, DPDK: d.o.DPDK},
	})
	if d.backend != nil {
		err := d.backend.Telemetry(func() *control.Snapshot {
			s, _ := d.state.Snapshot(0) // the newest is always there
			return s
		})
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
	}
	return d.listen()
}

func pathReason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// wallClock never goes back, whatever is done to the machine's clock.
func wallClock() func() int64 {
	base := time.Now()
	wall := base.UnixNano()
	return func() int64 { return wall + int64(time.Since(base)) }
}

func (d *Daemon) listen() error {
	c := &d.host.Config.Control
	open := func(path string, mode fs.FileMode, readOnly bool) error {
		if path == "" {
			return nil
		}
		s, err := control.Listen(d.state, path, mode, readOnly)
		if err != nil {
			return fmt.Errorf("run: %w", err)
		}
		d.servers = append(d.servers, s)
		d.log.Info("control socket", "path", path, "mode", fmt.Sprintf("%04o", mode), "read_only", readOnly)
		return nil
	}
	if err := open(c.Socket, c.Mode, false); err != nil {
		return err
	}
	if err := open(d.o.ReadOnly, 0o666, true); err != nil {
		return err
	}
	if !c.Metrics.IsValid() {
		return nil
	}
	m, err := metrics.Listen(c.Metrics, d.state, d.ready.Load)
	if err != nil {
		return fmt.Errorf("run: metrics: %w", err)
	}
	d.metrics = m
	d.log.Info("metrics", "address", m.Addr())
	return nil
}

// run starts workers, ports and lcores.
func (d *Daemon) run() {
	d.start = time.Now()
	d.housekeeping()
	for _, w := range d.workers {
		d.serving.Go(func() { d.serveWorkers(w) })
	}
	for _, p := range d.ports {
		if err := p.Start(); err != nil {
			d.fail(fmt.Errorf("run: %w", err))
		}
	}
	var polled sync.WaitGroup
	for _, l := range d.lcores {
		polled.Add(1)
		l.polled = polled.Done
		d.launch(l)
	}
	polled.Wait()
	d.state.Start()
	d.ready.Store(true)
	d.log.Info("polling", "lcores", len(d.lcores), "ports", len(d.ports), "workers", len(d.host.Engine.Workers()), "sockets", d.host.Sockets())
}

// wait returns when there is a reason to stop.
func (d *Daemon) wait(ctx context.Context) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	broken := map[int]bool{}
	for {
		select {
		case <-ctx.Done():
			d.log.Info("stopping", "why", "signal")
			return nil
		case why := <-d.why:
			d.log.Info("stopping", "why", why)
			return nil
		case err := <-d.failed:
			return err
		case <-look.C:
			for i, p := range d.ports {
				if err := p.Err(); err != nil && !broken[i] {
					broken[i] = true
					d.log.Error("port stopped", "port", d.host.Config.Ports[i].Name, "error", err)
				}
			}
			if d.o.UntilEnd && d.ended() {
				d.log.Info("stopping", "why", "every capture has come to its end")
				return nil
			}
		}
	}
}

// ended reports whether no port brings anything any more.
func (d *Daemon) ended() bool {
	for _, p := range d.ports {
		for _, q := range p.Queues() {
			if !q.Done() {
				return false
			}
		}
	}
	return true
}

// fail asks for an orderly stop because of err; the first one counts.
func (d *Daemon) fail(err error) {
	select {
	case d.failed <- err:
	default:
	}
}

// Shutdown asks for an orderly stop.
func (d *Daemon) Shutdown(why string) {
	select {
	case d.why <- why:
	default:
	}
}

// Config is the running configuration; for tests.
func (d *Daemon) Config() *config.Config { return d.host.Config }
