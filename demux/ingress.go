package demux

import "slices"

// portIn maps the tags of a port's frames to interfaces.
type portIn struct {
	untagged *Iface
	any      *Iface    // `vlans: any`: every stack belongs to it
	single   []*Iface  // by VID, nil when no single tag is known
	stacks   []stackIf // two and more tags, sorted
}

type stackIf struct {
	vlans uint64
	ifc   *Iface
}

// Ingress returns the interface of a frame: vlans holds up to four VIDs, 16
// bits each, outermost in the lowest, as packet.Meta.VLANs does. VID 0 is no
// tag. nil: no interface has this stack (NO_VRF).
func (v *View) Ingress(port uint16, vlans uint64, nvlan uint8) *Iface {
	if int(port) >= len(v.ports) {
		return nil
	}
	p := &v.ports[port]
	if nvlan == 0 {
		return p.untagged
	}
	return p.tagged(vlans, nvlan)
}

func (p *portIn) tagged(vlans uint64, nvlan uint8) *Iface {
	if nvlan > 4 {
		return p.any
	}
	stack, n := squeeze(vlans, nvlan)
	switch {
	case n == 0:
		return p.untagged
	case p.any != nil:
		return p.any
	case n == 1:
		if int(stack) < len(p.single) {
			return p.single[stack]
		}
		return nil
	}
	if i, ok := slices.BinarySearchFunc(p.stacks, stack, cmpStack); ok {
		return p.stacks[i].ifc
	}
	return nil
}

func cmpStack(a stackIf, b uint64) int {
	switch {
	case a.vlans < b:
		return -1
	case a.vlans > b:
		return 1
	}
	return 0
}

// squeeze drops the tags with VID 0, which only carry a priority.
func squeeze(vlans uint64, nvlan uint8) (stack uint64, n int) {
	for i := range nvlan {
		if vid := vlans >> (16 * i) & 0xffff; vid != 0 {
			stack |= vid << (16 * n)
			n++
		}
	}
	return stack, n
}

// PackStack packs VIDs, outermost first, as Ingress takes them. At most four.
func PackStack(vids []uint16) (vlans uint64, nvlan uint8) {
	for i, vid := range vids {
		vlans |= uint64(vid) << (16 * i)
	}
	return vlans, uint8(len(vids))
}
