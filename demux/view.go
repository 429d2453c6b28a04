package demux

import (
	"strconv"

	"edemux/flowtable"
)

// View is everything that lookups need, frozen. The Builder makes it; it never
// changes, so any number of threads may use it without a lock.
type View struct {
	VRFs []VRF // by index; 0 is default

	// TCPL3mdevAccept and UDPL3mdevAccept are the sysctls of those names.
	TCPL3mdevAccept, UDPL3mdevAccept bool
	// MatchExact is early_demux_match: exact. UDPEarly ignores it: the caller
	// then searches the flow table instead.
	MatchExact bool
	// HasPrograms reports whether some group has a program: only then need
	// Query.Prog be filled.
	HasPrograms bool

	socks  paged[Sock]
	infos  paged[*Info]
	bulks  []bulk
	groups []*Group // by index; nil when the group is gone
	ifaces []*Iface // by ifindex; nil for VRFs and unused numbers
	ports  []portIn
	rules  *ruleSet

	tcp, udp chains
	conn     index         // connected UDP sockets by four-tuple
	prim     paged[uint32] // UDP port -> reference into prims: SockID or chain mark
	prims    paged[primary]
	members  map[member]int // (device, group) -> sockets that joined
}

// bulk is a run of sockets made by AddFlows, which have no Info.
type bulk struct {
	first SockID
	n     uint32
	name  string
}

// none stands for a socket that does not exist.
var none = Sock{IncomingCPU: -1}

// Sock returns the socket called id. For a socket that is gone Alive is false
// and only Worker, VRF and Bdi mean something.
func (v *View) Sock(id SockID) *Sock {
	if s := v.socks.get(id); s != nil {
		return s
	}
	return &none
}

// Listening reports whether id is a listener that takes new connections.
func (v *View) Listening(id SockID) bool { return v.Sock(id).Flags&Listening != 0 }

// Info returns the names and memberships of id; nil when it has none (sockets
// of AddFlows) or is gone.
func (v *View) Info(id SockID) *Info {
	if p := v.infos.get(id); p != nil {
		return *p
	}
	return nil
}

// Name is the member's name as decisions show it, "-" when there is none.
func (v *View) Name(id SockID) string {
	if i := v.Info(id); i != nil {
		return i.Name
	}
	for i := range v.bulks {
		if b := &v.bulks[i]; id-b.first < b.n {
			return b.name + "/" + strconv.FormatUint(uint64(id-b.first), 10)
		}
	}
	return "-"
}

// Socks calls f for each living socket in order of ID until it returns false.
func (v *View) Socks(f func(SockID, *Sock) bool) {
	for i, p := range v.socks.pages {
		for j := range p.a {
			if p.a[j].Alive() && !f(SockID(i<<pageBits|j), &p.a[j]) {
				return
			}
		}
	}
}

// MaxSock is one more than the largest SockID handed out so far: the length of
// an array indexed by SockID.
func (v *View) MaxSock() int { return len(v.socks.pages) << pageBits }

// Groups is one more than the largest group index handed out so far. Indices
// are not given out again.
func (v *View) Groups() int { return len(v.groups) }

// Group returns the group with that index, nil when it is gone.
func (v *View) Group(i int) *Group { return v.groups[i] }

// GroupSize is the number of live members; 0 for a group that is gone.
func (v *View) GroupSize(i int) int {
	if g := v.groups[i]; g != nil {
		return len(g.socks)
	}
	return 0
}

// GroupName is the configured name, else that of the first member.
func (v *View) GroupName(i int) string {
	if g := v.groups[i]; g != nil {
		return g.Name
	}
	return "-"
}

// VRFByName returns the VRF called name, or nil.
func (v *View) VRFByName(name string) *VRF {
	for i := range v.VRFs {
		if v.VRFs[i].Name == name {
			return &v.VRFs[i]
		}
	}
	return nil
}

// Iface returns the interface with that ifindex, nil when there is none.
func (v *View) Iface(ifindex uint32) *Iface {
	if int(ifindex) >= len(v.ifaces) {
		return nil
	}
	return v.ifaces[ifindex]
}

// IfaceByName returns the interface called name, or nil.
func (v *View) IfaceByName(name string) *Iface {
	for _, i := range v.ifaces {
		if i != nil && i.Name == name {
			return i
		}
	}
	return nil
}

// Connected is the four-tuple table of UDP (hash4): the socket that connected
// last among those with this identity whose device matches. accept is the
// l3mdev sysctl to apply; the kernel asks the TCP one here, for UDP as well.
func (v *View) Connected(k *flowtable.Key, v6 bool, dif, sdif uint32, accept bool) SockID {
	best, bestSeq := SockID(0), int32(0)
	for p := v.conn.probe(hashTuple(k)); ; {
		id := p.next()
		if id == 0 {
			return best
		}
		s := v.socks.at(id)
		if s.Key() != *k || s.Flags&stale4 != 0 || v6 && s.Flags&IsV6 == 0 || !boundEq(accept, s.Bdi, dif, sdif) {
			continue
		}
		if best == 0 || s.aux > bestSeq {
			best, bestSeq = id, s.aux
		}
	}
}

// boundEq is inet_bound_dev_eq.
func boundEq(accept bool, bdi, dif, sdif uint32) bool {
	if bdi == 0 {
		return sdif == 0 || accept
	}
	return bdi == dif || bdi == sdif
}
