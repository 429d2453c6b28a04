package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"edemux/cli/config"
)

// difference is what leads from the running configuration to the next one.
type difference struct {
	now, next *config.Config
	restart   []string // cannot be done live
	did       []string // a sentence each

	dropVRFs       []string
	addVRFs        []*config.VRF
	sysctls, fibs  []*config.VRF // of next, VRFs that stay
	dropIfaces     []string
	addIfaces      []iface
	addPools       []*config.Pool
	close          []*config.Socket // of now
	open           []*config.Socket // of next, in order
	sockets, rules bool             // something about them changed
}

// iface is an interface of a configuration.
type iface struct {
	name  string
	port  int
	stack []uint16
	any   bool
	vrf   string
}

func (d *difference) note(format string, args ...any) {
	d.did = append(d.did, fmt.Sprintf(format, args...))
}

func (d *difference) needs(format string, args ...any) {
	d.restart = append(d.restart, fmt.Sprintf(format, args...))
}

// compare finds the difference to c.
func (h *Host) compare(c *config.Config) *difference {
	d := &difference{now: h.Config, next: c}
	c.Bases = map[string]uint32{}
	maps.Copy(c.Bases, h.Config.Bases)
	d.fixed(h)
	d.pools()
	moved := d.interfaces()
	d.vrfs(moved)
	d.socketList(h, moved)
	d.rules = !config.Same(d.now.Rules, c.Rules)
	if d.rules {
		d.note("rules: %d", len(c.Rules))
	}
	if a, b := &d.now.Sysctl, &c.Sysctl; !config.Same(*a, *b) {
		d.note("tcp_l3mdev_accept %d, udp_l3mdev_accept %d", word(b.TCPL3mdevAccept), word(b.UDPL3mdevAccept))
	}
	if d.now.Match != c.Match {
		d.note("early_demux_match")
	}
	return d
}

func word(on bool) int {
	if on {
		return 1
	}
	return 0
}

// fixed names what is settled at the start.
func (d *difference) fixed(h *Host) {
	a, b := d.now, d.next
	for _, x := range []struct {
		name string
		same bool
	}{
		{"secret", config.Same(a.Secret, b.Secret)}, {"checksums", config.Same(a.Checksums, b.Checksums)},
		{"lcores", config.Same(a.Lcores, b.Lcores)}, {"eal", config.Same(a.EAL, b.EAL)},
		{"control", config.Same(a.Control, b.Control)}, {"limits", config.Same(a.Limits, b.Limits)},
		{"flows", a.Flows.UDP == b.Flows.UDP && h.flowsSum == digest(b)},
	} {
		if !x.same {
			d.needs("%s", x.name)
		}
	}
	for i := range max(len(a.Ports), len(b.Ports)) {
		switch {
		case i >= len(b.Ports):
			d.needs("port %s is gone", a.Ports[i].Name)
		case i >= len(a.Ports):
			d.needs("port %s is new", b.Ports[i].Name)
		default:
			d.port(&a.Ports[i], &b.Ports[i])
		}
	}
}

func (d *difference) port(a, b *config.Port) {
	switch {
	case a.Name != b.Name:
		d.needs("port %s is %s now", a.Name, b.Name)
	case !config.Same(a.Source, b.Source):
		d.needs("source of port %s", a.Name)
	case !config.Same(a.MAC, b.MAC):
		d.needs("mac of port %s", a.Name)
	case a.Queues != b.Queues || !config.Same(a.CPUs, b.CPUs):
		d.needs("queues of port %s", a.Name)
	}
}

// pools: new ones are added; those that run stay as they are.
func (d *difference) pools() {
	for i := range d.now.Workers {
		a := &d.now.Workers[i]
		b := d.next.Pool(a.Name)
		switch {
		case b == nil:
			d.needs("worker pool %s is gone", a.Name)
		case !config.Same(*a, *b):
			d.needs("worker pool %s", a.Name)
		}
	}
	var n uint32
	bases := map[string]uint32{}
	for i := range d.now.Workers {
		bases[d.now.Workers[i].Name] = n
		n += uint32(d.now.Workers[i].Count)
	}
	for i := range d.next.Workers {
		p := &d.next.Workers[i]
		if d.now.Pool(p.Name) == nil {
			d.addPools = append(d.addPools, p)
			d.note("worker pool %s: %d workers", p.Name, p.Count)
			continue
		}
		if _, known := d.next.Bases[p.Name]; !known {
			d.next.Bases[p.Name] = bases[p.Name]
		}
	}
}

func ifaces(c *config.Config) (all []iface) {
	vrf := map[string]string{}
	for i := range c.VRFs {
		for _, r := range c.VRFs[i].Interfaces {
			vrf[r.Name] = c.VRFs[i].Name
		}
	}
	add := func(x iface) {
		if x.vrf = vrf[x.name]; x.vrf == "" {
			x.vrf = "default"
		}
		all = append(all, x)
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		add(iface{name: p.Name, port: i, any: p.VLANs.Any})
		for _, s := range p.VLANs.Sub {
			add(iface{name: s.Name, port: i, stack: s.Stack})
		}
	}
	return all
}

// interfaces returns the names of those that go, come or change; a changed one
// goes and comes again.
func (d *difference) interfaces() map[string]bool {
	moved := map[string]bool{}
	was := map[string]iface{}
	for _, x := range ifaces(d.now) {
		was[x.name] = x
	}
	for _, x := range ifaces(d.next) {
		old, had := was[x.name]
		delete(was, x.name)
		if had && old.port == x.port && old.any == x.any && old.vrf == x.vrf && slices.Equal(old.stack, x.stack) {
			continue
		}
		moved[x.name] = true
		d.addIfaces = append(d.addIfaces, x)
		if had {
			d.dropIfaces = append(d.dropIfaces, x.name)
			d.note("interface %s: changed, in VRF %s", x.name, x.vrf)
		} else {
			d.note("interface %s: new, in VRF %s", x.name, x.vrf)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		moved[name] = true
		d.dropIfaces = append(d.dropIfaces, name)
		d.note("interface %s: gone", name)
	}
	return moved
}

func (d *difference) vrfs(moved map[string]bool) {
	for i := range d.now.VRFs {
		if n := d.now.VRFs[i].Name; d.next.VRF(n) == nil {
			d.dropVRFs = append(d.dropVRFs, n)
			d.note("vrf %s: gone, with its flows", n)
		}
	}
	for i := range d.next.VRFs {
		b := &d.next.VRFs[i]
		a := d.now.VRF(b.Name)
		if a == nil {
			d.addVRFs = append(d.addVRFs, b)
			d.note("vrf %s: new", b.Name)
			continue
		}
		if !config.Same(a.Ehash, b.Ehash) {
			d.needs("ehash of vrf %s", b.Name)
		}
		if !config.Same(a.Sysctl, b.Sysctl) {
			d.sysctls = append(d.sysctls, b)
			d.note("vrf %s: sysctls", b.Name)
		}
		through := slices.ContainsFunc(b.Routes, func(r config.Route) bool { return moved[r.Via.Name] })
		if a.EveryLocal != b.EveryLocal || !config.Same(a.Local, b.Local) || !config.Same(a.Broadcast, b.Broadcast) ||
			!config.Same(a.Routes, b.Routes) || through {
			d.fibs = append(d.fibs, b)
			d.note("vrf %s: addresses and routes", b.Name)
		}
	}
}

// socketList finds the sockets to close and to open. A socket whose device
// went away, if only for a moment, is opened anew.
func (d *difference) socketList(h *Host, moved map[string]bool) {
	was := map[string]*config.Socket{}
	for i := range d.now.Sockets {
		was[d.now.Sockets[i].Name] = &d.now.Sockets[i]
	}
	var opened, changed, closed []string
	for i := range d.next.Sockets {
		b := &d.next.Sockets[i]
		a := was[b.Name]
		delete(was, b.Name)
		switch {
		case a == nil:
			opened = append(opened, b.Name)
			d.open = append(d.open, b)
		case !sameSocket(a, b) || onDevice(b, moved, d.dropVRFs):
			changed = append(changed, b.Name)
			d.close, d.open = append(d.close, a), append(d.open, b)
		case h.lacks(d.now, b):
			changed = append(changed, b.Name)
			d.open = append(d.open, b)
		case !config.Same(a.Steer, b.Steer):
			d.sockets = true
			d.note("socket %s: steering", b.Name)
		}
	}
	for i := range d.now.Sockets {
		if a := &d.now.Sockets[i]; was[a.Name] != nil {
			closed = append(closed, a.Name)
			d.close = append(d.close, a)
		}
	}
	for _, x := range []struct {
		what  string
		names []string
	}{{"closed", closed}, {"opened", opened}, {"opened anew", changed}} {
		if len(x.names) > 0 {
			d.sockets = true
			d.note("sockets %s: %s", x.what, few(x.names))
		}
	}
}

// few names at most ten.
func few(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" and %d more", len(names)-10)
	}
	return strings.Join(names, ", ")
}

// sameSocket compares all but the steering, which belongs to the group.
func sameSocket(a, b *config.Socket) bool {
	x, y := *a, *b
	x.Steer, y.Steer = nil, nil
	return config.Same(x, y)
}

func onDevice(s *config.Socket, moved map[string]bool, gone []string) bool {
	if moved[s.Dev.Name] || slices.Contains(gone, s.Dev.Name) {
		return true
	}
	return slices.ContainsFunc(s.Join, func(j config.Join) bool { return moved[j.Dev.Name] })
}

// lacks reports whether a member was closed by a command.
func (h *Host) lacks(c *config.Config, s *config.Socket) bool {
	if s.Workers.Name == "" {
		return h.Builder.Lookup(s.Name) == 0
	}
	for n := range c.Pool(s.Workers.Name).Count {
		if h.Builder.Lookup(fmt.Sprintf("%s/%d", s.Name, n)) == 0 {
			return true
		}
	}
	return false
}
