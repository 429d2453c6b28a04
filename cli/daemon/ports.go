package daemon

import (
	"fmt"
	"net"
	"strings"

	"edemux/cli/config"
	"edemux/cli/exit"
	"edemux/dataplane/port"
)

// openPorts opens the source of every port.
func (d *Daemon) openPorts() error {
	c := d.host.Config
	if len(c.Ports) == 0 {
		return exit.Usagef("run: %s: no ports: add ports: [{name: eth0, source: {pcap: FILE, loop: 0}}] or a DPDK device", d.o.Config)
	}
	d.ports = make([]port.Port, len(c.Ports))
	var dpdk []DPDKPort
	for i := range c.Ports {
		p := &c.Ports[i]
		cpus := d.host.Queues()[i].CPUs
		switch {
		case p.Source.DPDK != "":
			dpdk = append(dpdk, DPDKPort{Index: uint16(i), Name: p.Name, Device: p.Source.DPDK, MAC: p.MAC, CPUs: cpus})
		case p.Source.PCAP != "":
			x, err := port.OpenPcap(port.PcapOptions{
				File: c.Path(p.Source.PCAP), Name: p.Name, Index: uint16(i), CPUs: cpus,
				Loop: p.Source.Loop, Pace: pace(p.Source.Speed), Settle: d.settle,
				Warn: func(s string) { d.log.Warn("capture", "port", p.Name, "warning", s) },
			})
			if err != nil {
				return exit.AsUsage(fmt.Errorf("run: %w", err))
			}
			d.ports[i] = x
		default:
			return exit.Usagef("run: port %s: no source: write source: {pcap: FILE} or {dpdk: DEVICE}", p.Name)
		}
	}
	return d.openDPDK(dpdk)
}

func (d *Daemon) openDPDK(want []DPDKPort) error {
	if len(want) == 0 {
		if len(d.o.EAL) > 0 {
			return exit.Usagef("run: EAL arguments, and no port with a DPDK source")
		}
		return nil
	}
	if OpenDPDK == nil {
		return exit.Usagef("run: port %s: dpdk: this edemux is built without DPDK: install libdpdk-dev and run make build", want[0].Name)
	}
	c := d.host.Config
	b, err := OpenDPDK(DPDKOptions{
		Config: c, EAL: append(append([]string{}, c.EAL...), d.o.EAL...), Ports: want,
		Lcores: d.cpus(), Log: d.log,
	})
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	d.backend = b
	d.clock = b.Clock()
	d.host.SetTx(b.Tx)
	for i, p := range b.Ports() {
		at := want[i].Index
		d.ports[at] = p
		if mac, err := net.ParseMAC(p.Info().MAC); err == nil && c.Ports[at].MAC == nil {
			d.host.Engine.KnowMAC(int(at), [6]byte(mac))
		}
	}
	return d.host.Engine.Publish()
}

func pace(s config.Speed) port.Pace {
	switch s.Kind {
	case config.SpeedReal, config.SpeedTimes:
		return port.Pace{Times: s.N}
	case config.SpeedPPS:
		return port.Pace{PPS: s.N}
	}
	return port.Pace{}
}

// cpus are the CPUs of the polling lcores, -1 for one that is not pinned.
func (d *Daemon) cpus() []int {
	if len(d.host.Config.Lcores) == 0 {
		return []int{-1}
	}
	return d.host.Config.Lcores
}

// settle returns when the workers are done with every packet that is in their
// rings now.
func (d *Daemon) settle() {
	for _, t := range d.threads() {
		for _, w := range t.workers {
			for !w.Settle(drainTime) && !d.stopWorkers.Load() {
			}
		}
	}
}

// assign spreads the queues over the lcores. Lcores without a queue are not
// started.
func (d *Daemon) assign() {
	c, cpus := d.host.Config, d.cpus()
	var refs []queueRef
	for i, p := range d.ports {
		for j, q := range p.Queues() {
			refs = append(refs, queueRef{RxQueue: q, port: i, queue: j})
		}
	}
	n := min(len(cpus), len(refs))
	if n < len(cpus) {
		d.log.Warn("fewer queues than lcores: the others are not started", "queues", len(refs), "lcores", len(cpus))
	}
	for i := range n {
		l := &lcore{index: i, cpu: cpus[i], clock: d.clock}
		if l.Lcore = d.host.Lcore; i > 0 {
			l.Lcore = d.host.Engine.NewLcore()
		}
		if d.o.Recorder {
			l.EnableRecorder(recorded)
		}
		d.lcores = append(d.lcores, l)
	}
	for i, r := range refs {
		l := d.lcores[i%n]
		if r.forward, _ = r.RxQueue.(forwarder); d.backend != nil {
			d.backend.Bind(l.index, r.RxQueue)
		}
		l.queues = append(l.queues, r)
	}
	if d.backend == nil {
		return
	}
	for _, l := range d.lcores {
		l.cpu = d.backend.CPU(l.index)
		var names []string
		for _, q := range l.queues {
			names = append(names, fmt.Sprintf("%s/%d", c.Ports[q.port].Name, q.queue))
		}
		d.log.Info("queues", "lcore", l.index, "cpu", l.cpu, "polls", strings.Join(names, " "))
	}
}

// recorded is the number of decisions that the flight recorder of an lcore holds.
const recorded = 1 << 16
