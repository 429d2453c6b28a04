package demux

import (
	"fmt"
	"net/netip"
	"slices"

	"edemux/flowtable"

	"github.com/gaissmai/bart"
)

// SetLocal sets the addresses and prefixes that a VRF delivers. nil: every
// unicast address is local.
func (b *Builder) SetLocal(vrf uint16, local []netip.Prefix) {
	v := &b.v.VRFs[vrf]
	v.FibGen++
	v.every = local == nil
	v.local = nil
	if v.every {
		return
	}
	v.local = new(bart.Lite)
	for _, p := range local {
		v.local.Insert(p.Masked())
	}
}

// SetBroadcast sets the IPv4 broadcast addresses of a VRF; 255.255.255.255 is
// always one.
func (b *Builder) SetBroadcast(vrf uint16, addrs []netip.Addr) {
	v := &b.v.VRFs[vrf]
	v.FibGen++
	v.broadcast = nil
	for _, a := range addrs {
		v.broadcast = append(v.broadcast, flowtable.AddrFrom(a))
	}
}

// Route leads to what is not local.
type Route struct {
	To  netip.Prefix
	Via uint32 // ifindex
}

// SetRoutes replaces the routes of a VRF.
func (b *Builder) SetRoutes(vrf uint16, routes []Route) error {
	t := new(bart.Table[Nhop])
	for _, r := range routes {
		if b.v.Iface(r.Via) == nil {
			return fmt.Errorf("route %s: no interface with index %d", r.To, r.Via)
		}
		t.Insert(r.To.Masked(), Nhop{r.Via})
	}
	b.v.VRFs[vrf].routes = t
	b.v.VRFs[vrf].FibGen++
	return nil
}

// clone copies a port for an edit that published Views must not see.
func (p *portIn) clone() portIn {
	c := *p
	c.single, c.stacks = slices.Clone(p.single), slices.Clone(p.stacks)
	return c
}

// place enters interface i under its tags.
func (p *portIn) place(i *Iface, s IfaceSpec) error {
	packed, n := PackStack(s.VIDs)
	stack, tags := squeeze(packed, n)
	switch {
	case tags == 0:
		if p.untagged != nil {
			return fmt.Errorf("untagged frames of port %d belong to %s", s.Port, p.untagged.Name)
		}
		p.untagged = i
		if s.AnyVLAN {
			p.any = i
		}
	case tags == 1:
		if p.single == nil {
			p.single = make([]*Iface, 4096)
		}
		if stack >= 4096 {
			return fmt.Errorf("vlan %d: at most 4095", stack)
		}
		if o := p.single[stack]; o != nil {
			return fmt.Errorf("vlan %d of port %d belongs to %s", stack, s.Port, o.Name)
		}
		p.single[stack] = i
	default:
		at, ok := slices.BinarySearchFunc(p.stacks, stack, cmpStack)
		if ok {
			return fmt.Errorf("vlans %v of port %d belong to %s", s.VIDs, s.Port, p.stacks[at].ifc.Name)
		}
		p.stacks = slices.Insert(p.stacks, at, stackIf{stack, i})
	}
	return nil
}
