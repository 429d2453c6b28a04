package setup

import (
	"edemux/dataplane"
	"edemux/flowtable"
)

// RingWorkers are the workers that poll a ring, and the CPUs that the
// configuration gives them, in the order of their global indices.
func (h *Host) RingWorkers() (workers []*dataplane.Worker, cpus []int) {
	for i := range h.Config.Workers {
		p := &h.Config.Workers[i]
		if len(p.Lcores) > 0 {
			for n := range p.Count {
				cpus = append(cpus, p.Lcores[n%len(p.Lcores)])
			}
		}
	}
	return h.rings, cpus
}

// Interfaces are the names of the configured interfaces, ports before their
// sub-interfaces.
func (h *Host) Interfaces() (all []string) {
	for i := range h.Config.Ports {
		p := &h.Config.Ports[i]
		all = append(all, p.Name)
		for _, s := range p.VLANs.Sub {
			all = append(all, s.Name)
		}
	}
	return all
}

// Secret is the hash secret in use.
func (h *Host) Secret() flowtable.Secret { return h.secrets }

// Options are what the host was opened with.
func (h *Host) Options() Options { return h.opts }
