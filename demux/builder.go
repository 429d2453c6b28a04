package demux

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"

	"edemux/flowtable"
)

// Builder is the control path: it makes and changes what Views show, checks
// each step as Linux would, and publishes. One goroutine; the Views that it
// published are not affected by later edits.
//
// Order of calls is meaning, as the order of system calls is: add VRFs and
// interfaces first, then sockets in the order in which they are opened.
type Builder struct {
	Hasher *flowtable.Hasher

	epoch uint64
	rand  *rand.Rand // automatic ports
	v     View       // scalars and small tables; the large ones are below
	socks paged[Sock]
	infos paged[*Info]
	bulks []bulk
	next  SockID
	names map[string]SockID

	udp     book // every bound UDP socket by (address, port): hash2
	listen  book // TCP listeners: lhash2
	bound   book // every bound TCP socket: bhash2, order without meaning
	conn    index
	connSeq int32
	hashed4 map[SockID]flowtable.Key // first four-tuple of UDP sockets that connected again
	ports   [2]map[uint16]*portSocks // TCP, UDP: every bound socket of a port
	buckets map[bucketKey]*bucket    // TCP bind buckets
	prim    paged[uint32]
	prims   paged[primary]
	primLen uint32
	primOf  map[uint16]uint32 // port -> element of prims
	dirty   []uint16          // UDP ports whose primary is out of date

	groups  []*group
	grown   []int // groups to publish anew
	rules   []Rule
	ruleRef map[SockID][]int32 // rules that stand for the group of a socket
	reRule  bool               // compile anew
	reAim   bool               // only targets changed
	members map[member]int
	reJoin  bool
	progs   int // groups with a program, as published
	ops     []FlowOp
}

// FlowOp tells the owner of the flow tables what to do before it swaps in the
// next View (Insert) or after (Delete). A UDP socket that connects again leaves
// the table for good, as in Linux, unless it returns to its first remote.
type FlowOp struct {
	Delete bool
	Proto  uint8
	VRF    uint16        // whose Space
	Sock   SockID        // first socket
	N      uint32        // sockets Sock to Sock+N-1; more than one only for AddFlows
	Bdi    uint32        // with Delete: of the flow
	Key    flowtable.Key // with Delete: of the flow; else see View.Sock(id).Key()
}

// NewBuilder returns a Builder with VRF default and nothing else.
func NewBuilder(secret flowtable.Secret) *Builder {
	b := &Builder{
		Hasher:  flowtable.NewHasher(secret),
		epoch:   1,
		next:    1,
		rand:    rand.New(rand.NewPCG(seedOf(secret))),
		names:   map[string]SockID{},
		ports:   [2]map[uint16]*portSocks{{}, {}},
		buckets: map[bucketKey]*bucket{},
		primOf:  map[uint16]uint32{},
		members: map[member]int{},
		hashed4: map[SockID]flowtable.Key{},
	}
	b.udp.ordered, b.listen.ordered = true, true
	b.v.ifaces = []*Iface{nil}
	b.addVRF("default", 0)
	return b
}

func seedOf(s flowtable.Secret) (hi, lo uint64) {
	for i := range 8 {
		hi, lo = hi<<8|uint64(s[i]), lo<<8|uint64(s[8+i])
	}
	return hi, lo
}

// AddVRF adds a VRF and returns its index. The name default is taken.
func (b *Builder) AddVRF(name string) (uint16, error) {
	if b.v.VRFByName(name) != nil || b.v.IfaceByName(name) != nil {
		return 0, fmt.Errorf("vrf %s: the name is taken", name)
	}
	return b.addVRF(name, b.newIfindex()), nil
}

func (b *Builder) addVRF(name string, ifindex uint32) uint16 {
	i := uint16(len(b.v.VRFs))
	b.v.VRFs = append(b.v.VRFs, VRF{
		Name: name, Index: i, Ifindex: ifindex, Seed: b.Hasher.Seed(name),
		Sysctl: DefaultSysctl(), FibGen: 1, every: true,
	})
	return i
}

func (b *Builder) newIfindex() uint32 {
	b.v.ifaces = append(b.v.ifaces, nil)
	return uint32(len(b.v.ifaces) - 1)
}

// IfaceSpec describes an interface: a port (no VIDs), or a sub-interface of it.
type IfaceSpec struct {
	Name     string
	Port     uint16
	VIDs     []uint16 // outermost first, at most four, 0 means untagged and is ignored
	AnyVLAN  bool     // a port whose frames belong to it whatever their tags
	VRF      uint16
	Loopback bool
}

// AddIface adds an interface and returns its ifindex.
func (b *Builder) AddIface(s IfaceSpec) (uint32, error) {
	switch {
	case b.v.VRFByName(s.Name) != nil || b.v.IfaceByName(s.Name) != nil:
		return 0, fmt.Errorf("interface %s: the name is taken", s.Name)
	case int(s.VRF) >= len(b.v.VRFs):
		return 0, fmt.Errorf("interface %s: no VRF with index %d", s.Name, s.VRF)
	case len(s.VIDs) > 4:
		return 0, fmt.Errorf("interface %s: %d tags, at most four", s.Name, len(s.VIDs))
	}
	i := &Iface{Name: s.Name, VRF: s.VRF, Port: s.Port, Loopback: s.Loopback}
	for len(b.v.ports) <= int(s.Port) {
		b.v.ports = append(b.v.ports, portIn{})
	}
	p := b.v.ports[s.Port].clone()
	if err := p.place(i, s); err != nil {
		return 0, fmt.Errorf("interface %s: %w", s.Name, err)
	}
	b.v.ports[s.Port] = p
	i.Index = b.newIfindex()
	i.Dif = i.Index
	if v := &b.v.VRFs[s.VRF]; v.Ifindex != 0 {
		i.Dif, i.Sdif = v.Ifindex, i.Index
	}
	b.v.ifaces[i.Index] = i
	return i.Index, nil
}

// SetL3mdevAccept sets tcp_l3mdev_accept and udp_l3mdev_accept.
func (b *Builder) SetL3mdevAccept(tcp, udp bool) {
	changed := b.v.TCPL3mdevAccept != tcp
	b.v.TCPL3mdevAccept, b.v.UDPL3mdevAccept = tcp, udp
	if changed {
		b.rekey()
	}
}

// SetMatchExact sets early_demux_match: exact.
func (b *Builder) SetMatchExact(on bool) { b.v.MatchExact = on }

// SetSysctl sets the switches of a VRF.
func (b *Builder) SetSysctl(vrf uint16, s Sysctl) { b.v.VRFs[vrf].Sysctl = s }

// Sysctl returns the switches of a VRF as they will be published.
func (b *Builder) Sysctl(vrf uint16) Sysctl { return b.v.VRFs[vrf].Sysctl }

// SetSpaces sets the established tables that Views carry for a VRF.
func (b *Builder) SetSpaces(vrf uint16, tcp, udp *flowtable.Space) {
	b.v.VRFs[vrf].TCP, b.v.VRFs[vrf].UDP = tcp, udp
}

// SetRules replaces the lookup rules. Each names an existing socket that
// listens (TCP) or is not connected (UDP).
func (b *Builder) SetRules(rules []Rule) error {
	for i := range rules {
		if err := b.checkRule(&rules[i]); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	b.rules, b.reRule = slices.Clone(rules), true
	b.ruleRef = map[SockID][]int32{}
	for i := range rules {
		if rules[i].Group {
			b.ruleRef[rules[i].Socket] = append(b.ruleRef[rules[i].Socket], int32(i))
		}
	}
	return nil
}

// Rules returns the rules in force, with the sockets that stand for groups now.
func (b *Builder) Rules() []Rule { return slices.Clone(b.rules) }

func (b *Builder) checkRule(r *Rule) error {
	s := b.sock(r.Socket)
	if s == nil {
		return fmt.Errorf("no socket %d", r.Socket)
	}
	name := b.Name(r.Socket)
	switch {
	case s.Proto() != r.Proto:
		return &Error{name, "assign", syscall.EPROTOTYPE, "rule and socket are of different protocols"}
	case r.Proto == TCP && s.Flags&Listening == 0:
		return &Error{name, "assign", syscall.ESOCKTNOSUPPORT, "not a listener"}
	case s.Flags&Connected != 0:
		return &Error{name, "assign", syscall.ESOCKTNOSUPPORT, "connected"}
	case r.Dst.IsValid() && r.Dst.Addr().Is4() && s.Flags&(IsV6|V6Only) == IsV6|V6Only,
		r.Dst.IsValid() && !r.Dst.Addr().Is4() && s.Flags&IsV6 == 0:
		return &Error{name, "assign", syscall.EAFNOSUPPORT, "of another family than " + r.Dst.String()}
	case !r.AnyVRF && int(r.VRF) >= len(b.v.VRFs):
		return fmt.Errorf("no VRF with index %d", r.VRF)
	case r.Low > r.Top:
		return fmt.Errorf("ports %d-%d: the first is the larger", r.Low, r.Top)
	}
	return nil
}

// freezeRules compiles the rules, or only copies their targets when no more
// than those changed.
func (b *Builder) freezeRules() {
	switch {
	case b.reRule:
		b.v.rules = compileRules(b.rules)
	case b.reAim:
		r := *b.v.rules
		r.targets = make([]SockID, len(b.rules))
		for i := range b.rules {
			r.targets[i] = b.rules[i].Socket
		}
		b.v.rules = &r
	}
	b.reRule, b.reAim = false, false
}

// sock returns a living socket, or nil.
func (b *Builder) sock(id SockID) *Sock {
	if s := b.socks.get(id); s != nil && s.Alive() {
		return s
	}
	return nil
}

// mut returns a socket for writing.
func (b *Builder) mut(id SockID) *Sock { return b.socks.mut(id, b.epoch) }

// Lookup returns the living socket called name, 0 when there is none.
func (b *Builder) Lookup(name string) SockID { return b.names[name] }

// Name returns the name of a socket that is or was.
func (b *Builder) Name(id SockID) string {
	v := View{infos: b.infos, bulks: b.bulks}
	return v.Name(id)
}

// Publish freezes what the Builder holds. The cost is that of what changed,
// plus a pointer per 256 sockets.
func (b *Builder) Publish() *View {
	b.udp.freeze(&b.socks, b.epoch)
	b.listen.freeze(&b.socks, b.epoch)
	b.freezePorts()
	b.freezeGroups()
	b.freezeRules()
	if b.reJoin {
		b.v.members, b.reJoin = maps.Clone(b.members), false
	}
	v := b.v
	v.VRFs = slices.Clone(b.v.VRFs)
	v.ifaces = slices.Clone(b.v.ifaces)
	v.ports = slices.Clone(b.v.ports)
	v.groups = slices.Clone(b.v.groups)
	v.bulks = slices.Clone(b.bulks)
	v.socks, v.infos = b.socks.snapshot(), b.infos.snapshot()
	v.tcp, v.udp, v.conn = b.listen.snapshot(), b.udp.snapshot(), b.conn.snapshot()
	v.prim, v.prims = b.prim.snapshot(), b.prims.snapshot()
	b.epoch++
	return &v
}

// TakeFlowOps returns what happened to connected sockets since the last call.
func (b *Builder) TakeFlowOps() []FlowOp {
	ops := b.ops
	b.ops = nil
	return ops
}
