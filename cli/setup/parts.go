package setup

import (
	"encoding/binary"
	"fmt"
	"slices"

	"edemux/cli/config"
	"edemux/dataplane"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// makeTables makes the flow tables of every VRF: its own, or a place in
// default's.
func (h *Host) makeTables() error {
	var shared [2]*flowtable.Table
	for i := range h.Config.VRFs {
		v := &h.Config.VRFs[i]
		tables := shared
		e := v.Ehash
		if e != nil {
			own, err := h.tablesOf(v)
			if err != nil {
				return err
			}
			tables = own
			h.tables = append(h.tables, own[0], own[1])
		} else {
			e = h.Config.VRFs[0].Ehash
		}
		if i == 0 {
			shared = tables
		}
		s, err := h.spaces(v, e, tables)
		if err != nil {
			return err
		}
		h.Builder.SetSpaces(uint16(i), s[0], s[1])
	}
	return nil
}

// tablesOf makes the tables that a VRF has for itself.
func (h *Host) tablesOf(v *config.VRF) (tables [2]*flowtable.Table, err error) {
	for p, buckets := range []uint32{v.Ehash.TCP, v.Ehash.UDP} {
		tables[p], err = flowtable.New(flowtable.Config{
			Name: v.Name + "/" + protoNames[p], Buckets: buckets, Max: max(buckets, v.Ehash.Max),
			Flows: v.Ehash.Flows, Hasher: h.Builder.Hasher,
		})
		if err != nil {
			return tables, fmt.Errorf("%s: vrf %s: flow table: %w", h.command, v.Name, err)
		}
	}
	return tables, nil
}

var protoNames = [2]string{"tcp", "udp"}

// spaces makes the place of a VRF in tables.
func (h *Host) spaces(v *config.VRF, e *config.Ehash, tables [2]*flowtable.Table) (spaces [2]*flowtable.Space, err error) {
	limits := flowtable.Limits{Flows: e.Flows, Full: policies[e.Full], OnEvict: func(f flowtable.Flow) { h.Engine.Evicted(&f) }}
	for p, t := range tables {
		s, err := t.Space(v.Name, h.Builder.Hasher.Seed(v.Name), limits)
		if err != nil {
			return spaces, fmt.Errorf("%s: vrf %s: flow table: %w", h.command, v.Name, err)
		}
		spaces[p] = s
	}
	return spaces, nil
}

var policies = [...]flowtable.Policy{
	config.FullDrop: flowtable.Drop, config.FullEvict: flowtable.Evict, config.FullPass: flowtable.Pass,
}

var handlers = [...]dataplane.Handler{
	config.HandlerCount: dataplane.HandleCount, config.HandlerTouch: dataplane.HandleTouch,
	config.HandlerPcap: dataplane.HandlePcap, config.HandlerEcho: dataplane.HandleEcho,
	config.HandlerPort: dataplane.HandlePort,
}

// workers makes the workers of all pools in order. Those of a pool with lcores
// poll a ring.
func (h *Host) workers(replay bool) (all []*dataplane.Worker) {
	for i := range h.Config.Workers {
		some, rings, _ := h.pool(&h.Config.Workers[i], replay)
		all = append(all, some...)
		h.rings = append(h.rings, rings...)
	}
	return all
}

// pool makes the workers of one pool. rings are those that poll a ring, and
// cpus where they do it.
func (h *Host) pool(p *config.Pool, replay bool) (all, rings []*dataplane.Worker, cpus []int) {
	for n := range p.Count {
		w := dataplane.NewWorker(p.Name, n, handlers[p.Handler.Kind])
		if p.Handler.Kind == config.HandlerPort {
			w.Port = uint16(slices.IndexFunc(h.Config.Ports, func(x config.Port) bool { return x.Name == p.Handler.Port.Name }))
		}
		if len(p.Lcores) > 0 {
			w.Ring = dataplane.NewRing(p.Ring, replay)
			rings, cpus = append(rings, w), append(cpus, p.Lcores[n%len(p.Lcores)])
		}
		if h.tx != nil {
			w.Tx = h.tx(workerCPU(p, n))
		}
		all = append(all, w)
	}
	return all, rings, cpus
}

// workerCPU is where worker n of a pool polls its ring, -1 without one.
func workerCPU(p *config.Pool, n int) int {
	if len(p.Lcores) == 0 {
		return -1
	}
	return p.Lcores[n%len(p.Lcores)]
}

// SetTx gives every worker, also those of pools that are added later, what it sends
// through. Before anything runs.
func (h *Host) SetTx(tx func(cpu int) dataplane.Tx) {
	h.tx = tx
	all, i := h.Engine.Workers(), 0
	for n := range h.Config.Workers {
		p := &h.Config.Workers[n]
		for k := range p.Count {
			all[i].Tx = tx(workerCPU(p, k))
			i++
		}
	}
}

// ports describes the configured ports and remembers their queues.
func (h *Host) ports() (all []dataplane.Port) {
	for i := range h.Config.Ports {
		p := &h.Config.Ports[i]
		port := dataplane.Port{Name: p.Name, Known: p.MAC != nil}
		if port.Known {
			var b [8]byte
			copy(b[2:], p.MAC)
			port.MAC = binary.BigEndian.Uint64(b[:])
		}
		all = append(all, port)
		q := Queues{}
		for _, c := range p.CPUs {
			q.CPUs = append(q.CPUs, uint16(c))
		}
		h.queues = append(h.queues, q)
	}
	return all
}

// Queues are the receive queues by port. Ports that appear later have one.
func (h *Host) Queues() []Queues { return h.queues }

// NewPort reports whether a port has no interface yet.
func (h *Host) NewPort(port uint16) bool { return int(port) >= h.known }

// KnowPort gives every port up to this one an interface of its name, to which
// all tag stacks belong. Only when no port is configured: else interfaces of a capture
// that the configuration does not name stay without one (NO_VRF).
func (h *Host) KnowPort(port uint16) error {
	if !h.NewPort(port) {
		return nil
	}
	for ; h.known <= int(port); h.known++ {
		name := h.Ports.Name(uint16(h.known))
		n := h.Engine.AddPort(dataplane.Port{Name: name})
		if !h.anyPort {
			continue
		}
		if _, err := h.Builder.AddIface(demux.IfaceSpec{Name: name, Port: uint16(n), AnyVLAN: true}); err != nil {
			return err
		}
	}
	return h.Engine.Publish()
}

// VRFName is the VRF that a frame belongs to, "" when it has none.
func (h *Host) VRFName(port uint16, m *packet.Meta) string {
	v := h.Engine.View()
	ifc := v.Ingress(port, m.VLANs, m.NVLAN)
	if ifc == nil {
		return ""
	}
	return v.VRFs[ifc.VRF].Name
}
