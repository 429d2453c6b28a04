package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"edemux/demux"
	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// builder carries out a configuration on a demux.Builder.
type builder struct {
	*Config
	b       *demux.Builder
	ifindex map[string]uint32 // by interface name
	vrf     map[string]uint16 // by VRF name
	base    map[string]uint32 // global index of a pool's first worker
	place   map[string]Pos    // of each socket opened so far, by name
	missing bool              // open only what is not open
}

// Build makes VRFs, interfaces, addresses, routes and sockets in b in the order
// of the file, then flows, steering and rules. VRF i of c is VRF i of b, port i
// of c is port i of b. b must be new. The first refusal ends it; the error is
// an *Error at the object that was refused.
func Build(c *Config, b *demux.Builder) error {
	k := newBuilder(c, b)
	b.SetL3mdevAccept(c.Sysctl.TCPL3mdevAccept, c.Sysctl.UDPL3mdevAccept)
	b.SetMatchExact(c.Match == MatchExact)
	for _, step := range []func() error{k.vrfs, k.ifaces, k.routes, k.sockets, k.flows, k.steer, k.rules} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func newBuilder(c *Config, b *demux.Builder) *builder {
	k := &builder{Config: c, b: b, ifindex: map[string]uint32{}, vrf: map[string]uint16{},
		base: map[string]uint32{}, place: map[string]Pos{}}
	var n uint32
	for i := range c.Workers {
		k.base[c.Workers[i].Name] = n
		n += uint32(c.Workers[i].Count)
	}
	for name, first := range c.Bases {
		k.base[name] = first
	}
	return k
}

func (k *builder) vrfs() error {
	for i := range k.VRFs {
		v := &k.VRFs[i]
		id := uint16(0)
		if v.Name != "default" {
			var err error
			if id, err = k.b.AddVRF(v.Name); err != nil {
				return k.Errorf(v.At("name"), "", "%v", err)
			}
		}
		k.vrf[v.Name] = id
		k.b.SetSysctl(id, v.Sysctl.Demux())
		if !v.EveryLocal {
			k.b.SetLocal(id, append([]netip.Prefix{}, v.Local...))
		}
		if len(v.Broadcast) > 0 {
			k.b.SetBroadcast(id, v.Broadcast)
		}
	}
	return nil
}

// Demux is s in the form that demux takes.
func (s *Sysctl) Demux() demux.Sysctl {
	out := demux.Sysctl{
		IPEarlyDemux: s.IPEarlyDemux, TCPEarlyDemux: s.TCPEarlyDemux, UDPEarlyDemux: s.UDPEarlyDemux,
		PortLow: s.LocalPortRange.Low, PortHigh: s.LocalPortRange.High,
		TCPMidstream: s.TCPMidstream != 0, TCPMigrateReq: s.TCPMigrateReq != 0, TCPTwReuse: s.TCPTwReuse,
		TCPMaxSynBacklog: s.TCPMaxSynBacklog, TCPMaxTwBuckets: s.TCPMaxTwBuckets,
		TCPIdleTimeout: int64(s.TCPIdleTimeout),
	}
	if len(s.ReservedPorts) > 0 {
		out.Reserved = new([1024]uint64)
		for _, r := range s.ReservedPorts {
			for p := int(r.Low); p <= int(r.High); p++ {
				out.Reserved[p>>6] |= 1 << (p & 63)
			}
		}
	}
	return out
}

func (k *builder) ifaces() error {
	member := map[string]uint16{}
	for i := range k.VRFs {
		for _, r := range k.VRFs[i].Interfaces {
			member[r.Name] = k.vrf[k.VRFs[i].Name]
		}
	}
	add := func(at Pos, s demux.IfaceSpec) error {
		s.VRF = member[s.Name]
		id, err := k.b.AddIface(s)
		if err != nil {
			return k.Errorf(at, "", "%v", err)
		}
		k.ifindex[s.Name] = id
		return nil
	}
	for i := range k.Ports {
		p := &k.Ports[i]
		if err := add(p.At("name"), demux.IfaceSpec{Name: p.Name, Port: uint16(i), AnyVLAN: p.VLANs.Any}); err != nil {
			return err
		}
		for _, s := range p.VLANs.Sub {
			if err := add(s.Pos, demux.IfaceSpec{Name: s.Name, Port: uint16(i), VIDs: s.Stack}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k *builder) routes() error {
	for i := range k.VRFs {
		v := &k.VRFs[i]
		if len(v.Routes) == 0 {
			continue
		}
		all := make([]demux.Route, len(v.Routes))
		for j, r := range v.Routes {
			all[j] = demux.Route{To: r.To, Via: k.ifindex[r.Via.Name]}
		}
		if err := k.b.SetRoutes(k.vrf[v.Name], all); err != nil {
			return k.Errorf(v.At("routes"), "", "%v", err)
		}
	}
	return nil
}

func (k *builder) sockets() error {
	for i := range k.Sockets {
		if err := k.socket(&k.Sockets[i]); err != nil {
			return err
		}
	}
	return nil
}

// socket opens s, or one socket for each worker of its pool.
func (k *builder) socket(s *Socket) error {
	if s.Workers.Name == "" {
		sp := k.spec(s, s.Name)
		sp.Worker = k.base[s.Worker.Pool] + uint32(s.Worker.Index)
		return k.open(s, &sp)
	}
	for n := range k.Pool(s.Workers.Name).Count {
		sp := k.spec(s, fmt.Sprintf("%s/%d", s.Name, n))
		sp.GroupName, sp.Reuseport = s.Name, true
		sp.Worker = k.base[s.Workers.Name] + uint32(n)
		if err := k.open(s, &sp); err != nil {
			return err
		}
	}
	return nil
}

func (k *builder) open(s *Socket, sp *demux.Spec) error {
	if k.missing && k.b.Lookup(sp.Name) != 0 {
		return nil
	}
	if _, err := k.b.Add(sp); err != nil {
		return k.refused(s, err)
	}
	k.place[sp.Name] = s.At("name")
	return nil
}

// spec is s, as one socket called name.
func (k *builder) spec(s *Socket, name string) demux.Spec {
	sp := demux.Spec{
		Name: name, Proto: s.Proto, Family: s.Family(), Bind: s.Bind, Connect: s.Connect, Laddr: s.Laddr,
		Dev: s.Dev.Name, V6Only: s.V6Only, Reuseport: s.Reuseport, Reuseaddr: s.Reuseaddr,
		NoCheck6Rx: s.NoCheck6Rx, UID: s.UID, IncomingCPU: s.IncomingCPU,
	}
	if s.Proto == demux.TCP && !s.Connect.IsValid() {
		sp.Listen, sp.Backlog = true, s.Backlog
	}
	if s.Connect.IsValid() && !s.Laddr.IsValid() {
		sp.Laddr, _ = k.vrfOf(s).HostAddr(s.Connect.Addr().Unmap().Is4())
	}
	for i := range s.Join {
		j := &s.Join[i]
		join := demux.Join{Group: flowtable.AddrFrom(j.Group), Ifindex: k.ifindex[j.Dev.Name]}
		for _, a := range j.Include {
			join.Include = append(join.Include, flowtable.AddrFrom(a))
		}
		sp.Joins = append(sp.Joins, join)
	}
	return sp
}

// vrfOf returns the VRF of a socket: that of its device, else default.
func (k *builder) vrfOf(s *Socket) *VRF {
	for i := range k.VRFs {
		v := &k.VRFs[i]
		if v.Name == s.Dev.Name {
			return v
		}
		for _, r := range v.Interfaces {
			if r.Name == s.Dev.Name {
				return v
			}
		}
	}
	return &k.VRFs[0]
}

// refused places what Linux would refuse at the value that it refuses.
func (k *builder) refused(s *Socket, err error) error {
	var e *demux.Error
	if !errors.As(err, &e) {
		return k.Errorf(s.At("name"), "", "%v", err)
	}
	key := "bind"
	for _, op := range [][2]string{{"bind to device", "dev"}, {"connect", "connect"}, {"join", "join"}, {"attach", "steer"}} {
		if strings.HasPrefix(e.Op, op[0]) {
			key = op[1]
		}
	}
	if !s.Has(key) {
		key = "name"
	}
	what := err.Error()
	if other, ok := strings.CutPrefix(e.With, "socket "); ok {
		if p := k.place[other]; p.Line > 0 {
			what = strings.TrimSuffix(what, ")") + fmt.Sprintf(", line %d)", p.Line)
		}
	}
	return k.Errorf(s.At(key), adviceFor(e.Errno), "%s", what)
}

func adviceFor(errno syscall.Errno) string {
	switch errno {
	case syscall.EADDRINUSE:
		return "choose another address or port, or give both reuseport: true, the same address and the same uid"
	case syscall.EADDRNOTAVAIL:
		return "list the address in local of its VRF, name the VRF in dev, or choose another address"
	case syscall.ENETUNREACH:
		return "add laddr: ADDR of the family of connect"
	}
	return ""
}

// flows opens the sockets of the flows file. Those of default are made in
// bulk; those of another VRF are bound to it.
func (k *builder) flows() error {
	var bulk []demux.FlowSpec
	count := map[string]int{}
	err := k.EachFlow(func(f Flow, worker uint32) error {
		if f.VRF == "default" {
			bulk = append(bulk, demux.FlowSpec{Worker: worker, Key: flowtable.Key{
				Laddr: flowtable.AddrFrom(f.Laddr), Faddr: flowtable.AddrFrom(f.Faddr), Lport: f.Lport, Fport: f.Fport}})
			return nil
		}
		n := count[f.VRF]
		count[f.VRF]++
		_, err := k.b.Add(&demux.Spec{
			Name: fmt.Sprintf("flows.%s/%d", f.VRF, n), Proto: demux.UDP, Dev: f.VRF, Reuseaddr: true, IncomingCPU: -1,
			Bind: netip.AddrPortFrom(f.Laddr, f.Lport), Connect: netip.AddrPortFrom(f.Faddr, f.Fport), Worker: worker,
		})
		return err
	})
	if err != nil || len(bulk) == 0 {
		return err
	}
	if _, err := k.b.AddFlows("flows", bulk); err != nil {
		return k.Errorf(k.Flows.At("udp"), "", "%v", err)
	}
	return nil
}

// steer attaches what governs the groups, now that every member is there.
func (k *builder) steer() error {
	steered := map[demux.SockID]Pos{}
	for i := range k.Sockets {
		s := &k.Sockets[i]
		if s.Steer == nil {
			continue
		}
		id := k.first(s)
		members := k.b.GroupMembers(id)
		if len(members) == 0 {
			return k.Errorf(s.At("steer"), "remove it, or do not connect the socket", "socket %s has no group", s.Name)
		}
		if p, dup := steered[members[0]]; dup {
			return k.Errorf(s.At("steer"), "keep one", "the group of %s is already steered in line %d", s.Name, p.Line)
		}
		steered[members[0]] = s.At("steer")
		if err := k.steerGroup(s, id, members); err != nil {
			return err
		}
	}
	return nil
}

func (k *builder) steerGroup(s *Socket, id demux.SockID, members []demux.SockID) error {
	st := s.Steer
	switch {
	case st.Mode == "cpu":
		for cpu, m := range members {
			if err := k.b.SetIncomingCPU(m, int32(cpu)); err != nil {
				return k.refused(s, err)
			}
		}
		return nil
	case st.Mode == "hash":
		return nil
	}
	key, text := "asm", st.ASM
	if st.CBPF != "" {
		key = "cbpf"
		var err error
		if text, err = readProgram(k.Path(st.CBPF)); err != nil {
			return k.Errorf(st.At(key), "name a file that can be read", "%s", openReason(err))
		}
	}
	prog, err := cbpf.Load(text)
	if err != nil {
		return k.Errorf(st.At(key), "", "program: %v", err)
	}
	if err := k.b.Attach(id, prog); err != nil {
		return k.refused(s, err)
	}
	return nil
}

// maxProgram bounds a program file, bytes.
const maxProgram = 1 << 20

func readProgram(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxProgram+1))
	if len(text) > maxProgram {
		return "", fmt.Errorf("program of more than %d bytes", maxProgram)
	}
	return string(text), err
}

// first returns the socket of s, or its first member.
func (k *builder) first(s *Socket) demux.SockID {
	if s.Workers.Name != "" {
		return k.b.Lookup(s.Name + "/0")
	}
	return k.b.Lookup(s.Name)
}

func (k *builder) rules() error {
	if len(k.Rules) == 0 {
		return nil
	}
	byName := map[string]*Socket{}
	for i := range k.Sockets {
		byName[k.Sockets[i].Name] = &k.Sockets[i]
	}
	all := make([]demux.Rule, len(k.Rules))
	for i := range k.Rules {
		r := &k.Rules[i]
		d := demux.Rule{Proto: r.Proto, AnyVRF: r.VRF.Name == "", VRF: k.vrf[r.VRF.Name], Dst: r.Dst, Low: r.Ports.Low, Top: r.Ports.High}
		if s := byName[r.Socket.Name]; s != nil {
			d.Socket, d.Group = k.first(s), s.InGroup()
		} else {
			d.Socket = k.b.Lookup(r.Socket.Name)
		}
		all[i] = d
	}
	if err := k.b.SetRules(all); err != nil {
		n := 0
		_, _ = fmt.Sscanf(err.Error(), "rule %d:", &n)
		r := &k.Rules[min(max(n, 1), len(k.Rules))-1]
		return k.Errorf(r.At("socket"), "", "%v", err)
	}
	return nil
}
