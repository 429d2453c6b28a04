package demux

import (
	"fmt"
	"slices"

	"github.com/gaissmai/bart"
)

// RemoveIface takes an interface away: frames with its tags have none then
// (NO_VRF). Sockets bound to it, and memberships on it, must be closed first.
func (b *Builder) RemoveIface(name string) error {
	i := b.v.IfaceByName(name)
	if i == nil {
		return fmt.Errorf("interface %s: there is none", name)
	}
	if by := b.boundTo(i.Index); by != 0 {
		return fmt.Errorf("interface %s: socket %s is bound to it", name, b.Name(by))
	}
	p := b.v.ports[i.Port].clone()
	if p.untagged == i {
		p.untagged = nil
	}
	if p.any == i {
		p.any = nil
	}
	for vid, x := range p.single {
		if x == i {
			p.single[vid] = nil
		}
	}
	p.stacks = slices.DeleteFunc(p.stacks, func(s stackIf) bool { return s.ifc == i })
	b.v.ports[i.Port] = p
	b.v.ifaces[i.Index] = nil
	return nil
}

// RemoveVRF takes a VRF away. Its interfaces must be gone and its sockets
// closed. The index stays taken and is not handed out again; the VRF of that
// index has no name and no packets. Its flow spaces stay the caller's.
func (b *Builder) RemoveVRF(name string) error {
	v := b.v.VRFByName(name)
	switch {
	case v == nil || name == "":
		return fmt.Errorf("vrf %s: there is none", name)
	case v.Index == 0:
		return fmt.Errorf("vrf %s: it stays", name)
	}
	for _, i := range b.v.ifaces {
		if i != nil && i.VRF == v.Index {
			return fmt.Errorf("vrf %s: interface %s is in it", name, i.Name)
		}
	}
	if by := b.boundTo(v.Ifindex); by != 0 {
		return fmt.Errorf("vrf %s: socket %s is bound to it", name, b.Name(by))
	}
	for _, r := range b.rules {
		if !r.AnyVRF && r.VRF == v.Index {
			return fmt.Errorf("vrf %s: a rule is for it", name)
		}
	}
	v.Name, v.every, v.local, v.broadcast, v.routes = "", false, new(bart.Lite), nil, nil
	v.FibGen++
	return nil
}

// boundTo finds a living socket that is bound to a device or has joined a
// group on it.
func (b *Builder) boundTo(ifindex uint32) (found SockID) {
	for id := SockID(1); id < b.next && found == 0; id++ {
		s := b.sock(id)
		if s == nil {
			continue
		}
		if s.Bdi == ifindex {
			return id
		}
		if s.Has(HasJoins) {
			for _, j := range (*b.infos.at(id)).Joins {
				if j.Ifindex == ifindex {
					found = id
				}
			}
		}
	}
	return found
}
