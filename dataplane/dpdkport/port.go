package dpdkport

import (
	"net"
	"sync"
	"sync/atomic"

	"edemux/dataplane/dpdk"
	"edemux/dataplane/port"
)

// Port is a DPDK device as the lcores see it.
type Port struct {
	spec   *Spec
	dev    *dpdk.Port
	pool   *dpdk.Pool
	info   dpdk.PortInfo
	queues []*Queue
	locks  []sync.Mutex // of the transmit queues that several threads use
	mac    [6]byte
	peer   atomic.Uint64 // source of a frame that came in, 48 bits; 0: none yet

	unsent  atomic.Uint64 // packets that could not be turned around or sent on
	expired atomic.Uint64 // packets to forward that had no hop left

	mu     sync.Mutex // guards dev against Close while Info asks it
	closed bool
	last   port.Info
}

func newPort(d *dpdk.Port, spec *Spec, pool *dpdk.Pool) *Port {
	p := &Port{spec: spec, dev: d, pool: pool, info: d.Info()}
	copy(p.mac[:], d.MAC())
	if len(spec.MAC) == len(p.mac) {
		copy(p.mac[:], spec.MAC)
	}
	p.locks = make([]sync.Mutex, p.info.TxQueues)
	for i := range spec.CPUs {
		p.queues = append(p.queues, &Queue{rx: d.Rx(i), port: p, number: i})
	}
	return p
}

// made reports whether a driver makes its address up: frames are not sent to it.
func made(driver string) bool {
	return driver == "net_pcap" || driver == "net_ring" || driver == "net_null"
}

// Index is the port's index in the configuration.
func (p *Port) Index() uint16 { return p.spec.Index }

// Name is the port's name in the configuration.
func (p *Port) Name() string { return p.spec.Name }

// MAC is the address that the port sends with.
func (p *Port) MAC() [6]byte { return p.mac }

// Device describes the device as it was opened.
func (p *Port) Device() *dpdk.PortInfo { return &p.info }

// Pool is where the port's mbufs come from.
func (p *Port) Pool() *dpdk.Pool { return p.pool }

// Info describes the port.
func (p *Port) Info() port.Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return p.last
	}
	i := port.Info{
		Source: "dpdk:" + p.spec.Device, Link: "down", Unsent: p.unsent.Load(), Expired: p.expired.Load(),
	}
	if p.spec.MAC != nil || !made(p.info.Driver) {
		i.MAC = net.HardwareAddr(p.mac[:]).String()
	}
	if l, err := p.dev.Link(); err == nil && l.Up {
		i.Link = "up"
	}
	if s, err := p.dev.Stats(); err == nil {
		i.Missed = s.Missed + s.NoMbuf
	}
	for q := range p.info.TxQueues {
		s := p.dev.Tx(q).Stats()
		i.Sent += s.Sent
		i.SentBytes += s.Bytes
		i.Refused += s.Refused
	}
	p.last = i
	return i
}

// Queues are the receive queues by number.
func (p *Port) Queues() []port.RxQueue {
	all := make([]port.RxQueue, len(p.queues))
	for i, q := range p.queues {
		all[i] = q
	}
	return all
}

// Start lets packets in.
func (p *Port) Start() error { return p.dev.Start() }

// Err is nil: a device does not end.
func (p *Port) Err() error { return nil }

// Close stops and closes the device. No lcore polls it any more.
func (p *Port) Close() error {
	p.Info() // the last figures stay
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	for _, q := range p.queues {
		q.close()
	}
	return p.dev.Close()
}
