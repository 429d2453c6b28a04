package dpdkport

import (
	"errors"
	"fmt"

	"edemux/dataplane/dpdk"
	"edemux/dataplane/packet"
	"edemux/dataplane/port"
)

// Set is the DPDK ports of one run.
type Set struct {
	eal     *dpdk.EAL
	plan    Plan
	ports   []*Port // in the order of the Specs
	byIndex []*Port // by index in the configuration; nil: another kind of port
	queues  []*Queue
	lcores  []*lane
	threads map[int]*lane // by CPU
	pools   []*dpdk.Pool
}

// Open opens the devices. On failure everything is closed again.
func Open(e *dpdk.EAL, p Plan) (*Set, error) {
	s := &Set{eal: e, plan: p, threads: map[int]*lane{}}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for i := range p.Lcores {
		s.lcores = append(s.lcores, s.lcoreLane(i))
	}
	return s, nil
}

func (s *Set) open() error {
	sizes := s.plan.Pools()
	for i := range s.plan.Specs {
		spec := &s.plan.Specs[i]
		pool, err := s.eal.NewPool(fmt.Sprintf("%.20s_%d", spec.Name, spec.Index), sizes[i])
		if err != nil {
			return err
		}
		s.pools = append(s.pools, pool)
		p, err := s.openPort(spec, pool)
		if err != nil {
			return err
		}
		s.ports = append(s.ports, p)
		s.queues = append(s.queues, p.queues...)
		for len(s.byIndex) <= int(spec.Index) {
			s.byIndex = append(s.byIndex, nil)
		}
		s.byIndex[spec.Index] = p
	}
	return nil
}

func (s *Set) openPort(spec *Spec, pool *dpdk.Pool) (*Port, error) {
	d, err := s.eal.OpenPort(dpdk.PortOptions{
		Device: spec.Device, Index: spec.Index, RxQueues: len(spec.CPUs), RxDesc: rxDescriptors,
		TxQueues: s.plan.txQueues(), TxDesc: txDescriptors, TxFewer: true, Burst: s.plan.Burst,
		Pools: []*dpdk.Pool{pool}, CPUs: spec.CPUs, VLANStrip: true, MaxFrame: maxFrame(spec.Device),
	})
	if err != nil {
		return nil, err
	}
	return newPort(d, spec, pool), nil
}

// maxFrame bounds what is made contiguous of a frame in several mbufs: captures
// hold longer frames than a device's MTU says. 0: by the MTU.
func maxFrame(device string) int {
	if a := args(device); a["rx_pcap"] != nil {
		return 65535 + 64
	}
	return 0
}

// Ports are the ports in the order of the Specs.
func (s *Set) Ports() []*Port { return s.ports }

// Bind gives queue q to polling lcore i, before either runs. false: q is no queue
// of the set.
func (s *Set) Bind(i int, q port.RxQueue) bool {
	x, ok := q.(*Queue)
	if !ok {
		return false
	}
	x.bind(s, s.lcores[i])
	return true
}

// find is the queue that frame f is in the hands of, and its number there.
func (s *Set) find(f *packet.Frame) (*Queue, int) {
	for _, q := range s.queues {
		if i, ok := q.rx.Index(f); ok {
			return q, i
		}
	}
	return nil, 0
}

// port is the DPDK port with that index in the configuration, nil when it is of
// another kind.
func (s *Set) port(index uint16) *Port {
	if int(index) >= len(s.byIndex) {
		return nil
	}
	return s.byIndex[index]
}

// Close closes ports and pools. It fails when an mbuf did not come back.
func (s *Set) Close() error {
	var errs []error
	for _, p := range s.ports {
		errs = append(errs, p.Close())
	}
	for _, p := range s.pools {
		errs = append(errs, p.Close())
	}
	s.pools = nil
	return errors.Join(errs...)
}
