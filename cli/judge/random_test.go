package judge

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"edemux/demux"
)

// gen makes a random scenario. Everything follows from its seed.
type gen struct {
	r     *rand.Rand
	n     Net
	steps []Step
	count int
	open  []*Socket // opened, perhaps in vain
	flows []*gflow
	ipid  uint32
	tcp   bool // this scenario has TCP
}

// gflow is a TCP conversation as its remote sees it.
type gflow struct {
	port, cpu     int
	remote, local netip.AddrPort
	seq           uint32 // next to send
	acked, fin    bool
}

// randomScenario returns the scenario of a seed with so many frames.
func randomScenario(seed uint64, frames int) *Scenario {
	g := &gen{r: rand.New(rand.NewPCG(seed, 0x6a75646765)), n: twoPorts()}
	g.tcp = g.chance(60)
	s := &g.n.VRFs[0].Sysctl
	s.IPEarlyDemux, s.TCPEarlyDemux, s.UDPEarlyDemux = !g.chance(10), !g.chance(20), !g.chance(20)
	s.TCPMigrateReq = g.chance(30)
	for range 3 + g.r.IntN(10) {
		g.opening()
	}
	if g.chance(25) {
		g.rules()
	}
	for sent := 0; sent < frames; sent = g.frames() {
		if g.chance(20) {
			g.control()
			continue
		}
		g.frame()
	}
	return &Scenario{Name: fmt.Sprintf("seed %d", seed), Net: g.n, Steps: g.steps}
}

func (g *gen) frames() (n int) {
	for i := range g.steps {
		n += b2i(g.steps[i].Frame != nil)
	}
	return n
}

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

// pick returns one of a list.
func pick[T any](g *gen, list []T) T { return list[g.r.IntN(len(list))] }

func (g *gen) add(s Step) { g.steps = append(g.steps, s) }

var (
	udpPorts   = []uint16{5000, 5001}
	tcpPorts   = []uint16{80, 81}
	farPorts   = []uint16{1000, 1001}
	groups4    = addrs("239.1.1.1", "239.1.1.2")
	groups6    = addrs("ff05::1:1", "ff05::1:2")
	sysctls    = []string{"ip_early_demux", "tcp_early_demux", "udp_early_demux", "tcp_migrate_req"}
	otherProgs = []string{"ret #0", "ret #1", "ret #9", "ld #cpu; ret a", "ld #len; and #1; ret a", "ldb [7]; ret a",
		"ldx #3; ld [x+0]; mod #3; ret a", "ldh [-1048556]; mod #3; ret a", "ld #proto; mod #2; ret a", "ld #-1; ret a",
		"ld [0]; jset #1, a, b; a: ret #1; b: ret #0", "ldxb 4*([0]&0xf); txa; and #1; ret a", "ld #0; div x; ret a"}
)

// program is text of a random steering program.
func (g *gen) program() string {
	if g.chance(60) {
		return fmt.Sprintf("ld [0]; mod #%d; ret a", 1+g.r.IntN(4))
	}
	return pick(g, otherProgs)
}

// opening opens a random socket.
func (g *gen) opening() {
	g.count++
	s := &Socket{Name: fmt.Sprintf("s%d", g.count), Proto: demux.UDP, Family: pick(g, []uint8{4, 4, 6}), IncomingCPU: -1}
	if g.tcp && g.chance(50) {
		s.Proto = demux.TCP
	}
	if n := len(g.open); n > 0 && g.chance(45) { // a companion of one that is there
		o := pick(g, g.open)
		c := *o
		c.Name, c.Connect, c.Joins, c.ProgBeforeBind = s.Name, netip.AddrPort{}, nil, ""
		c.Listen = c.Proto == demux.TCP
		s = &c
	} else {
		g.identity(s)
	}
	if s.Proto == demux.TCP {
		s.Listen, s.Backlog = true, 128
	}
	g.extras(s)
	g.open = append(g.open, s)
	g.add(Step{Open: s})
}

// identity chooses address, device and what decides about conflicts.
func (g *gen) identity(s *Socket) {
	port := pick(g, udpPorts)
	if s.Proto == demux.TCP {
		port = pick(g, tcpPorts)
	}
	s.Bind = netip.AddrPortFrom(g.bindAddr(s), port)
	s.Dev = pick(g, []string{"", "", "", "eth0", "eth1"})
	s.V6Only = s.Family == 6 && g.chance(25)
	s.Reuseport, s.Reuseaddr = g.chance(65), g.chance(20)
	if g.chance(8) {
		s.UID = 1000
	}
}

// bindAddr is a local address, a wildcard, or one that cannot be bound to.
func (g *gen) bindAddr(s *Socket) netip.Addr {
	if s.Family == 4 {
		switch {
		case g.chance(45):
			return netip.IPv4Unspecified()
		case g.chance(3):
			return pick(g, addrs("10.9.9.9", "127.0.0.1", "255.255.255.255", "10.0.0.255"))
		case g.chance(8):
			return pick(g, groups4)
		}
		return pick(g, local4)
	}
	switch {
	case g.chance(45):
		return netip.IPv6Unspecified()
	case g.chance(15):
		return netip.AddrFrom16(pick(g, local4).As16())
	case g.chance(5):
		return netip.MustParseAddr("::ffff:0.0.0.0")
	case g.chance(4):
		return pick(g, addrs("2001:db8:9::9", "::1", "ff05::1:1"))
	}
	return pick(g, local6)
}

// extras chooses what comes beside the identity.
func (g *gen) extras(s *Socket) {
	if g.chance(15) {
		s.IncomingCPU = int32(g.r.IntN(cpus))
	}
	if g.chance(4) {
		s.ProgBeforeBind = g.program()
	}
	if s.Proto == demux.TCP {
		if g.chance(8) {
			s.Listen, s.Connect = false, g.remoteOf(s)
			s.Bind = netip.AddrPortFrom(s.Bind.Addr(), pick(g, tcpPorts))
		}
		return
	}
	s.NoCheck6Rx = s.Family == 6 && g.chance(40)
	if g.chance(20) {
		s.Connect = g.remoteOf(s)
	}
	s.McastNotAll = g.chance(20)
	for g.chance(15) && len(s.Joins) < 3 {
		j := Join{Group: pick(g, groups4), Dev: pick(g, g.n.Ports)}
		src := remote4
		if s.Family == 6 && g.chance(80) {
			j.Group, src = pick(g, groups6), remote6
		}
		for g.chance(30) && len(j.Sources) < 2 {
			j.Sources = append(j.Sources, src[len(j.Sources)])
		}
		s.Joins = append(s.Joins, j)
	}
}

// remoteOf is a peer that a socket may try to connect to.
func (g *gen) remoteOf(s *Socket) netip.AddrPort {
	a := pick(g, remote4)
	switch {
	case s.Family == 6 && !s.Bind.Addr().Is4In6() && g.chance(80):
		a = pick(g, remote6)
	case s.Family == 6:
		a = netip.AddrFrom16(a.As16())
	}
	return netip.AddrPortFrom(a, pick(g, farPorts))
}

// control takes a random step that is no frame.
func (g *gen) control() {
	s := pick(g, g.open)
	switch {
	case g.chance(30):
		g.opening()
	case g.chance(35):
		g.add(Step{Close: s.Name})
	case g.chance(40):
		g.add(Step{Attach: &Attach{s.Name, g.program()}})
	case g.chance(15):
		g.add(Step{Detach: s.Name})
	case g.chance(25):
		g.add(Step{CPU: &SetCPU{s.Name, int32(g.r.IntN(cpus+1)) - 1}})
	case g.chance(50) && s.Proto == demux.UDP:
		g.add(Step{Connect: &Connect{Socket: s.Name, To: g.remoteOf(s)}})
	default:
		g.add(Step{Sysctl: &SetSysctl{0, pick(g, sysctls), g.r.IntN(2)}})
	}
}

// rules adds lookup rules, some of them for sockets that cannot be targets.
func (g *gen) rules() {
	var all []Rule
	for range 1 + g.r.IntN(4) {
		s := pick(g, g.open)
		low := pick(g, append(append([]uint16{5999}, udpPorts...), tcpPorts...))
		r := Rule{Proto: s.Proto, Low: low, High: low + uint16(g.r.IntN(3)), Socket: s.Name, Group: g.chance(50)}
		if g.chance(50) {
			r.Dst = netip.PrefixFrom(pick(g, append(append([]netip.Addr{}, local4...), local6...)), 8*(1+g.r.IntN(4))).Masked()
		}
		all = append(all, r)
	}
	g.add(Step{Rules: all})
}
