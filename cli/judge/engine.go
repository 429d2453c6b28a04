package judge

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"edemux/dataplane"
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// Engine takes the steps of a trial in edemux. One goroutine.
type Engine struct {
	net     *Net
	b       *demux.Builder
	e       *dataplane.Engine
	l       *dataplane.Lcore
	burst   *dataplane.Burst
	tables  []*flowtable.Table
	ifindex map[string]uint32
	base    *dataplane.Counters
	parse   packet.Options
	clock   int64
}

// Verdict is what the engine decided for one frame.
type Verdict struct {
	Verdict mib.Verdict
	Reason  mib.Reason
	Punt    mib.PuntWord
	Path    demux.Path
	Socks   []string // that got it
	MIB     MIB

	// About is the flow that an ICMP error quotes, as frames that come in name it.
	About flowKey

	// By says how a group chose Socks[0]; Group is 1 + its index. Any are the
	// members that another secret would have let it choose.
	By    demux.By
	CPU   int
	Group uint32
	Any   []string
	// Peers are the members of the group of Socks[0] that packets can choose.
	Peers []string
	// Wild says that the group is bound to the wildcard address.
	Wild bool
}

// String describes the verdict in one line.
func (v *Verdict) String() string {
	var b strings.Builder
	b.WriteString(v.Verdict.String())
	switch {
	case v.Verdict == mib.Drop:
		b.WriteString(" " + v.Reason.String())
	case v.Verdict == mib.Punt:
		b.WriteString(" " + v.Punt.String())
	}
	if len(v.Socks) > 0 {
		b.WriteString(" to " + strings.Join(v.Socks, ", "))
	}
	fmt.Fprintf(&b, " by path %s", v.Path)
	if v.By != demux.ByNone {
		fmt.Fprintf(&b, ", chosen by %s", v.By)
	}
	return b.String()
}

// NewEngine makes an engine with the network of n and no sockets.
func NewEngine(n *Net) (*Engine, error) {
	secret := flowtable.Secret{1, 2, 3}
	g := &Engine{net: n, b: demux.NewBuilder(secret), burst: dataplane.NewBurst(), ifindex: map[string]uint32{},
		parse: packet.Options{VerifyIP: !n.TrustIP, VerifyL4: !n.TrustL4}}
	if err := g.build(); err != nil {
		return nil, err
	}
	var ports []dataplane.Port
	for i, name := range n.Ports {
		mac := portMAC(n, i)
		known := i < len(n.MACs) && n.MACs[i] != 0
		ports = append(ports, dataplane.Port{Name: name, MAC: macNumber(mac), Known: known})
	}
	var err error
	g.e, err = dataplane.New(dataplane.Config{Hasher: g.b.Hasher, Secret: secret, Builder: g.b, Tables: g.tables, Ports: ports,
		Workers: []*dataplane.Worker{dataplane.NewWorker("w", 0, dataplane.HandleCount)}, Parse: g.parse, FragBytes: 4 << 20})
	if err != nil {
		return nil, err
	}
	g.l = g.e.NewLcore()
	g.base = g.e.Counters()
	return g, nil
}

func macNumber(mac [6]byte) (v uint64) {
	for _, b := range mac {
		v = v<<8 | uint64(b)
	}
	return v
}

// build adds VRFs, interfaces, addresses, routes and tables.
func (g *Engine) build() error {
	b := g.b
	b.SetL3mdevAccept(g.net.TCPL3mdevAccept, g.net.UDPL3mdevAccept)
	for i := range g.net.VRFs {
		v := &g.net.VRFs[i]
		if i > 0 {
			if _, err := b.AddVRF(v.Name); err != nil {
				return err
			}
		}
		b.SetSysctl(uint16(i), v.Sysctl)
		if !v.Every {
			b.SetLocal(uint16(i), append([]netip.Prefix{}, v.Local...))
		}
		b.SetBroadcast(uint16(i), v.Broadcast)
		if err := g.spaces(uint16(i), v.Name); err != nil {
			return err
		}
	}
	for i, name := range g.net.Ports {
		if err := g.iface(demux.IfaceSpec{Name: name, Port: uint16(i), AnyVLAN: i < len(g.net.Any) && g.net.Any[i]}); err != nil {
			return err
		}
	}
	for _, s := range g.net.Subs {
		if err := g.iface(demux.IfaceSpec{Name: s.Name, Port: uint16(s.Port), VIDs: s.Stack}); err != nil {
			return err
		}
	}
	for i := range g.net.VRFs {
		var routes []demux.Route
		for _, r := range g.net.VRFs[i].Routes {
			routes = append(routes, demux.Route{To: r.To, Via: g.ifindex[r.Via]})
		}
		if err := b.SetRoutes(uint16(i), routes); err != nil {
			return err
		}
	}
	return nil
}

func (g *Engine) iface(s demux.IfaceSpec) error {
	for i, v := range g.net.VRFs {
		for _, name := range v.Ifaces {
			if name == s.Name {
				s.VRF = uint16(i)
			}
		}
	}
	id, err := g.b.AddIface(s)
	g.ifindex[s.Name] = id
	return err
}

func (g *Engine) spaces(vrf uint16, name string) error {
	var s [2]*flowtable.Space
	for p := range s {
		t, err := flowtable.New(flowtable.Config{Name: name, Buckets: 1024, Max: 1 << 16, Hasher: g.b.Hasher, Inline: true})
		if err != nil {
			return err
		}
		g.tables = append(g.tables, t)
		if s[p], err = t.Space(name, g.b.Hasher.Seed(name), flowtable.Limits{}); err != nil {
			return err
		}
	}
	g.b.SetSpaces(vrf, s[0], s[1])
	return nil
}

// Close frees the tables.
func (g *Engine) Close() {
	for _, t := range g.tables {
		t.Close()
	}
}

// Open opens a socket. local is the address that the kernel gave it: chosen
// ports and addresses are the kernel's, so that both sides go on alike.
func (g *Engine) Open(s *Socket, local netip.AddrPort) (*Refusal, error) {
	prog, err := assemble(s.ProgBeforeBind)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", s.Name, err)
	}
	sp := demux.Spec{Name: s.Name, GroupName: s.Group, Proto: s.Proto, Family: s.Family, Bind: s.Bind, Connect: s.Connect,
		Laddr: s.Laddr, Dev: s.Dev, V6Only: s.V6Only, Reuseport: s.Reuseport, Reuseaddr: s.Reuseaddr, NoCheck6Rx: s.NoCheck6Rx,
		McastNotAll: s.McastNotAll, UID: s.UID, IncomingCPU: s.IncomingCPU, Listen: s.Listen, Backlog: s.Backlog, Prog: prog}
	if local.IsValid() {
		if s.Connect.IsValid() && !local.Addr().IsUnspecified() {
			sp.Laddr = local.Addr()
		}
		if s.Bind.IsValid() {
			sp.Bind = netip.AddrPortFrom(s.Bind.Addr(), local.Port())
		} else if s.Connect.IsValid() && local.Port() != 0 {
			sp.Bind = netip.AddrPortFrom(wildcard(s.Family), local.Port())
		}
	}
	for _, j := range s.Joins {
		join := demux.Join{Group: flowtable.AddrFrom(j.Group), Ifindex: g.ifindex[j.Dev]}
		for _, a := range j.Sources {
			join.Include = append(join.Include, flowtable.AddrFrom(a))
		}
		sp.Joins = append(sp.Joins, join)
	}
	_, err = g.b.Add(&sp)
	return g.done(err)
}

func wildcard(family uint8) netip.Addr {
	if family == 4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// done publishes after an edit, and tells a refusal from a failure.
func (g *Engine) done(err error) (*Refusal, error) {
	var refused *demux.Error
	if errors.As(err, &refused) {
		op, _, _ := strings.Cut(refused.Op, " ")
		return &Refusal{op, refused.Errno}, nil
	}
	if err != nil {
		return nil, err
	}
	return nil, g.e.Publish()
}

// lookup finds a socket by name.
func (g *Engine) lookup(name string) (demux.SockID, error) {
	if id := g.b.Lookup(name); id != 0 {
		return id, nil
	}
	return 0, fmt.Errorf("no socket %q", name)
}

// CloseSocket closes a socket.
func (g *Engine) CloseSocket(name string) error {
	id, err := g.lookup(name)
	if err != nil {
		return err
	}
	g.b.Close(id)
	return g.e.Publish()
}

// Connect connects a socket; laddr is the address that the kernel gave it.
func (g *Engine) Connect(name string, to netip.AddrPort, laddr netip.Addr) (*Refusal, error) {
	id, err := g.lookup(name)
	if err != nil {
		return nil, err
	}
	return g.done(g.b.Connect(id, to, laddr))
}

// Attach gives a socket's group a program; empty text takes it away.
func (g *Engine) Attach(name, text string) (*Refusal, error) {
	id, err := g.lookup(name)
	if err != nil {
		return nil, err
	}
	if text == "" {
		return g.done(g.b.Detach(id))
	}
	prog, err := assemble(text)
	if err != nil {
		return nil, err
	}
	return g.done(g.b.Attach(id, prog))
}

// SetCPU is SO_INCOMING_CPU.
func (g *Engine) SetCPU(name string, cpu int32) (*Refusal, error) {
	id, err := g.lookup(name)
	if err != nil {
		return nil, err
	}
	return g.done(g.b.SetIncomingCPU(id, cpu))
}

// SetSysctls applies the switches of a VRF as the Net has them now.
func (g *Engine) SetSysctls(vrf int) error {
	g.b.SetSysctl(uint16(vrf), g.net.VRFs[vrf].Sysctl)
	return g.e.Publish()
}

// SetRules replaces the lookup rules.
func (g *Engine) SetRules(rules []Rule) error {
	var all []demux.Rule
	for _, r := range rules {
		id, err := g.lookup(r.Socket)
		if err != nil {
			return err
		}
		d := demux.Rule{Proto: r.Proto, AnyVRF: r.VRF == "", Dst: r.Dst, Low: r.Low, Top: r.High, Socket: id, Group: r.Group}
		for i := range g.net.VRFs {
			if g.net.VRFs[i].Name == r.VRF {
				d.VRF = uint16(i)
			}
		}
		all = append(all, d)
	}
	if err := g.b.SetRules(all); err != nil {
		return err
	}
	return g.e.Publish()
}

// Targets are the sockets that the rules lead to now, by name.
func (g *Engine) Targets() (names []string) {
	for _, r := range g.b.Rules() {
		name := g.b.Name(r.Socket)
		if g.b.Lookup(name) != r.Socket {
			name = "" // closed; another may have its name
		}
		names = append(names, name)
	}
	return names
}
