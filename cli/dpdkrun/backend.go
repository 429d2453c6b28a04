package dpdkrun

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"edemux/cli/config"
	"edemux/cli/daemon"
	"edemux/dataplane"
	"edemux/dataplane/dpdk"
	"edemux/dataplane/dpdkport"
	"edemux/dataplane/port"

	"golang.org/x/sys/unix"
)

// backend is DPDK under a daemon.
type backend struct {
	eal     *dpdk.EAL
	set     *dpdkport.Set
	log     *slog.Logger
	stop    chan struct{}
	clock   sync.WaitGroup
	started []int // lcores that were launched
}

func open(o daemon.DPDKOptions) (*backend, error) {
	plan := planOf(&o)
	opts := dpdk.Options{
		CPUs: lcoreCPUs(o.Lcores), MemoryMB: dpdk.MemoryMB(plan.Pools()...), Extra: o.EAL, Devices: devices(o.Ports),
	}
	opts.Housekeeping = housekeeping(opts.CPUs, workerCPUs(o.Config))
	eal, err := dpdk.Init(opts)
	if err != nil {
		return nil, err
	}
	b := &backend{eal: eal, log: o.Log, stop: make(chan struct{})}
	for _, line := range eal.Describe() {
		b.log.Info("dpdk", "eal", line)
	}
	if b.set, err = dpdkport.Open(eal, plan); err != nil {
		return nil, errors.Join(err, eal.Close())
	}
	for _, p := range b.set.Ports() {
		size := p.Pool().Size()
		b.log.Info("dpdk", "port", p.Name(), "device", p.Device().String(), "pool", size.Why)
	}
	b.clock.Go(b.syncClock)
	return b, nil
}

// planOf says what the configuration wants opened.
func planOf(o *daemon.DPDKOptions) dpdkport.Plan {
	p := dpdkport.Plan{Lcores: len(o.Lcores), Stacks: map[string][]uint16{}}
	for _, x := range o.Ports {
		p.Specs = append(p.Specs, dpdkport.Spec{Index: x.Index, Name: x.Name, Device: x.Device, MAC: x.MAC, CPUs: x.CPUs})
	}
	for i := range o.Config.Ports {
		for _, s := range o.Config.Ports[i].VLANs.Sub {
			p.Stacks[s.Name] = s.Stack
		}
	}
	p.Threads = len(workerCPUs(o.Config))
	for i := range o.Config.Workers {
		if w := &o.Config.Workers[i]; len(w.Lcores) > 0 {
			p.RingSlots += w.Count * w.Ring
		}
	}
	return p
}

// workerCPUs are the CPUs on which rings are polled.
func workerCPUs(c *config.Config) (cpus []int) {
	for i := range c.Workers {
		w := &c.Workers[i]
		cpus = append(cpus, w.Lcores[:min(w.Count, len(w.Lcores))]...)
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// lcoreCPUs puts CPUs in the place of those left to us: from the last one down,
// because interrupts and everything else like the first.
func lcoreCPUs(want []int) []int {
	cpus := slices.Clone(want)
	free := slices.DeleteFunc(allowed(), func(c int) bool { return slices.Contains(want, c) })
	for i, c := range cpus {
		if c < 0 && len(free) > 0 {
			cpus[i], free = free[len(free)-1], free[:len(free)-1]
		}
	}
	return cpus
}

// housekeeping are the CPUs that neither lcores nor workers poll on; nil, which
// means whatever is left, when there is none.
func housekeeping(lcores, workers []int) []int {
	return slices.DeleteFunc(allowed(), func(c int) bool { return slices.Contains(lcores, c) || slices.Contains(workers, c) })
}

// allowed are the CPUs that this process may use.
func allowed() (cpus []int) {
	var s unix.CPUSet
	if unix.SchedGetaffinity(0, &s) != nil {
		return nil
	}
	for i := range len(s) * 64 {
		if s.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

func devices(ports []daemon.DPDKPort) (all []string) {
	for _, p := range ports {
		all = append(all, p.Device)
	}
	return all
}

// syncClock keeps DPDK's clock in step with the kernel's.
func (b *backend) syncClock() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			dpdk.SyncClock()
		case <-b.stop:
			return
		}
	}
}

// Ports are the ports asked for.
func (b *backend) Ports() (all []port.Port) {
	for _, p := range b.set.Ports() {
		all = append(all, p)
	}
	return all
}

// Bind gives a queue to lcore i; queues of other kinds need nothing of us.
func (b *backend) Bind(i int, q port.RxQueue) { b.set.Bind(i, q) }

// Tx is what a worker sends through.
func (b *backend) Tx(cpu int) dataplane.Tx {
	if cpu < 0 {
		return b.set.LcoreTx()
	}
	return b.set.WorkerTx(cpu)
}

// KeepOff moves the runtime's threads away from the lcores.
func (b *backend) KeepOff() {
	if _, err := b.eal.KeepOff(); err != nil {
		b.log.Warn("threads of the runtime stay where lcores poll", "error", err)
	}
}

// CPU is where lcore i polls.
func (b *backend) CPU(i int) int { return b.eal.Lcores()[i].CPU }

// Launch runs f on EAL lcore i.
func (b *backend) Launch(i int, f func()) error {
	id := b.eal.Lcores()[i].ID
	if err := b.eal.Launch(id, f, nil); err != nil {
		return err
	}
	b.started = append(b.started, id)
	return nil
}

// Clock is DPDK's clock.
func (b *backend) Clock() func() int64 { return dpdk.NowNS }

// Close gives packet memory back and ends EAL.
func (b *backend) Close() error {
	close(b.stop)
	b.clock.Wait()
	var errs []error
	for _, id := range b.started {
		errs = append(errs, b.eal.Wait(id))
	}
	return errors.Join(append(errs, b.set.Close(), b.eal.Close())...)
}
