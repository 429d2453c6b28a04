package config

import (
	"fmt"
	"net/netip"
)

// checker holds the names of a configuration while references are checked.
type checker struct {
	*Config
	loose  bool // something was unreadable: dangling references are not reported
	ifaces map[string]Pos
	owner  map[string]string // interface: VRF that enslaves it
	vrfs   map[string]*VRF
	pools  map[string]*Pool
	socks  map[string]*Socket
}

// check finds what is wrong between objects and records it in c's list.
func check(c *Config, loose bool) {
	k := &checker{Config: c, loose: loose, ifaces: map[string]Pos{}, owner: map[string]string{},
		vrfs: map[string]*VRF{}, pools: map[string]*Pool{}, socks: map[string]*Socket{}}
	from := len(c.list.all)
	k.names()
	for i := range c.Ports {
		k.port(&c.Ports[i])
	}
	for i := range c.VRFs {
		k.vrf(&c.VRFs[i])
	}
	for i := range c.Workers {
		k.pool(&c.Workers[i])
	}
	for i := range c.Sockets {
		k.socket(&c.Sockets[i])
	}
	for i := range c.Rules {
		k.rule(&c.Rules[i])
	}
	k.lcores()
	k.total()
	c.list.sortFrom(from)
}

// names enters every object under its name; devices (ports, sub-interfaces,
// VRFs) share one space, as they do in Linux.
func (k *checker) names() {
	devices := map[string]Pos{}
	add := func(what, name string, p Pos, space map[string]Pos) bool {
		if name == "" {
			return false
		}
		if first, dup := space[name]; dup {
			where := fmt.Sprintf("first in line %d", first.Line)
			if first.Line == 0 {
				where = "it is always there"
			}
			k.list.badf(p, "choose another name", "%s name used twice (%s)", what, where)
			return false
		}
		space[name] = p
		return true
	}
	for i := range k.VRFs {
		v := &k.VRFs[i]
		if add("device", v.Name, v.At("name"), devices) {
			k.vrfs[v.Name] = v
		}
	}
	for i := range k.Ports {
		p := &k.Ports[i]
		if add("device", p.Name, p.At("name"), devices) {
			k.ifaces[p.Name] = p.At("name")
		}
		for _, s := range p.VLANs.Sub {
			if add("device", s.Name, s.Pos, devices) {
				k.ifaces[s.Name] = s.Pos
			}
		}
	}
	pools, socks := map[string]Pos{}, map[string]Pos{}
	for i := range k.Workers {
		p := &k.Workers[i]
		if add("pool", p.Name, p.At("name"), pools) {
			k.pools[p.Name] = p
		}
	}
	for i := range k.Sockets {
		s := &k.Sockets[i]
		if add("socket", s.Name, s.At("name"), socks) {
			k.socks[s.Name] = s
		}
	}
}

// dangling reports a reference to nothing, with the nearest name of names.
func dangling[V any](k *checker, r Ref, what string, names map[string]V) {
	if k.loose {
		return
	}
	all := sortedKeys(names)
	instead := "there is no " + what + " in this configuration"
	if near := nearest(r.Name, all); near != "" {
		instead = "write " + near
	} else if len(all) > 0 {
		instead = "write one of " + joinShort(all)
	}
	k.list.bad(r.Pos, "no such "+what, instead)
}

func (k *checker) port(p *Port) {
	if p.Source.PCAP != "" && p.Source.DPDK != "" {
		k.list.bad(p.Source.At("dpdk"), "source is both a capture and a device", "keep pcap or dpdk")
	}
	if p.Source.DPDK != "" {
		for _, key := range []string{"loop", "speed"} {
			if p.Source.Has(key) {
				k.list.bad(p.Source.At(key), key+" is for captures", "remove it")
			}
		}
	}
	if len(p.CPUs) != p.Queues {
		k.list.badf(p.At("cpus"), fmt.Sprintf("list %d CPU numbers, one per queue", p.Queues),
			"%d CPU numbers for %d queues", len(p.CPUs), p.Queues)
	}
}

func (k *checker) vrf(v *VRF) {
	for _, r := range v.Interfaces {
		if _, ok := k.ifaces[r.Name]; !ok {
			if _, isVRF := k.vrfs[r.Name]; isVRF {
				k.list.bad(r.Pos, "a VRF cannot be enslaved", "name a port or sub-interface")
				continue
			}
			dangling(k, r, "interface", k.ifaces)
			continue
		}
		if other, taken := k.owner[r.Name]; taken {
			k.list.badf(r.Pos, "keep it in one VRF", "interface is already in VRF %s", other)
			continue
		}
		k.owner[r.Name] = v.Name
	}
	if e := v.Ehash; e != nil {
		k.ehash(e)
	}
	seen := map[netip.Prefix]bool{}
	for i := range v.Routes {
		r := &v.Routes[i]
		if seen[r.To] && r.To.IsValid() {
			k.list.bad(r.At("to"), "second route to this prefix", "keep one")
		}
		seen[r.To] = true
		if _, ok := k.ifaces[r.Via.Name]; !ok && r.Via.Name != "" {
			dangling(k, r.Via, "interface", k.ifaces)
		}
	}
}

// ehash checks sizes against each other. The value blamed is the one given; of
// two, the one that lies farther from its default.
func (k *checker) ehash(e *Ehash) {
	for _, s := range []struct {
		key  string
		size uint32
	}{{"tcp", e.TCP}, {"udp", e.UDP}} {
		if s.size <= e.Max {
			continue
		}
		key, instead := "max", fmt.Sprintf("write %d or more", s.size)
		if e.Has(s.key) && (!e.Has("max") || e.Max >= 65536) {
			key, instead = s.key, fmt.Sprintf("write %d or less", e.Max)
		}
		k.list.badf(e.At(key), instead, "start size %d of %s is above max %d", s.size, s.key, e.Max)
	}
}

func (k *checker) pool(p *Pool) {
	if r := p.Handler.Port; r.Name != "" {
		names := map[string]bool{}
		for i := range k.Ports {
			names[k.Ports[i].Name] = true
		}
		if !names[r.Name] {
			r.Pos.Text = r.Name
			dangling(k, r, "port", names)
		}
	}
}

// lcores refuses a CPU that is listed twice.
func (k *checker) lcores() {
	seen := map[int]bool{}
	for _, n := range k.Lcores {
		if seen[n] {
			k.list.badf(k.At("lcores"), "list each once", "CPU %d listed twice", n)
		}
		seen[n] = true
	}
}

// maxSockets bounds the sockets of a file; more belong into a flows file.
const maxSockets = 4 << 20

func (k *checker) total() {
	n := 0
	for i := range k.Sockets {
		s := &k.Sockets[i]
		if n++; s.Workers.Name != "" {
			if p := k.pools[s.Workers.Name]; p != nil {
				n += p.Count - 1
			}
		}
		if n > maxSockets {
			k.list.badf(s.At("name"), "put connected sockets into a flows file", "more than %d sockets", maxSockets)
			return
		}
	}
}

func (k *checker) rule(r *Rule) {
	if r.VRF.Name != "" && k.vrfs[r.VRF.Name] == nil {
		dangling(k, r.VRF, "VRF", k.vrfs)
	}
	if r.Socket.Name == "" {
		return
	}
	s := k.target(r.Socket)
	if s == nil {
		return
	}
	at := r.At("socket")
	switch {
	case s.Proto != r.Proto && s.Proto != 0 && r.Proto != 0:
		k.list.badf(at, "write the name of a "+protoName(r.Proto)+" socket", "%s is a %s socket", s.Name, protoName(s.Proto))
	case s.Connect.IsValid():
		k.list.badf(at, "name a listener or an unconnected socket", "%s is connected", s.Name)
	case r.Dst.IsValid() && r.Dst.Addr().Is6() && s.Family() == 4:
		k.list.badf(at, "name an IPv6 socket", "%s is an IPv4 socket and cannot take IPv6 packets", s.Name)
	case r.Dst.IsValid() && r.Dst.Addr().Is4() && s.Family() == 6 && s.V6Only:
		k.list.badf(at, "name an IPv4 socket, or one without v6only", "%s is an IPv6 socket with v6only and cannot take IPv4 packets", s.Name)
	}
}

// target resolves a socket, a member NAME/INDEX or a group; nil after
// reporting that there is none.
func (k *checker) target(r Ref) *Socket {
	if s := k.socks[r.Name]; s != nil {
		return s
	}
	if head, i, ok := splitMember(r.Name); ok {
		if s := k.socks[head]; s != nil {
			p := k.pools[s.Workers.Name]
			switch {
			case s.Workers.Name == "":
				k.list.badf(r.Pos, "write "+head, "%s is a single socket", head)
				return nil
			case p != nil && i >= p.Count:
				k.list.badf(r.Pos, fmt.Sprintf("write %s/0 to %s/%d", head, head, p.Count-1), "%s has %d members", head, p.Count)
				return nil
			}
			return s
		}
	}
	dangling(k, r, "socket", k.socks)
	return nil
}

func protoName(p uint8) string {
	switch p {
	case 6:
		return "tcp"
	case 17:
		return "udp"
	}
	return "?"
}
