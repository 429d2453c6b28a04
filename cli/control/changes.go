package control

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"edemux/cli/command"
	"edemux/demux"
)

// execute carries out a command that changes the engine. Lcores see it at
// their next burst.
func (s *State) execute(c command.Command, did, note string, args ...any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.o.Host.Execute(c); err != nil {
		return nil, refused(plain(err))
	}
	s.note(note, args...)
	return Changed{Epoch: s.o.Host.Engine.Epoch(), Did: did}, nil
}

// plain takes the flag of `replay --set` off errors that it shares.
func plain(err error) error {
	if rest, ok := strings.CutPrefix(err.Error(), "--set "); ok {
		return fmt.Errorf("%s", rest)
	}
	return err
}

// concerned are the VRFs that a command without a VRF acts on.
func (s *State) concerned(vrf string) []string {
	if vrf != "" {
		return []string{vrf}
	}
	var all []string
	v := s.o.Host.Engine.View()
	for i := range v.VRFs {
		if v.VRFs[i].Name != "" {
			all = append(all, v.VRFs[i].Name)
		}
	}
	return all
}

func getEarlyDemux(s *State, r *request) (any, error) {
	q, err := r.query("vrf")
	if err != nil {
		return nil, err
	}
	if err := s.checkVRF(q.Get("vrf")); err != nil {
		return nil, err
	}
	out := EarlyDemux{Epoch: s.o.Host.Engine.Epoch(), VRFs: []VRFSwitches{}}
	v := s.o.Host.Engine.View()
	for i := range v.VRFs {
		if n := q.Get("vrf"); v.VRFs[i].Name != "" && (n == "" || n == v.VRFs[i].Name) {
			out.VRFs = append(out.VRFs, VRFSwitches{v.VRFs[i].Name, switches(&v.VRFs[i].Sysctl)})
		}
	}
	return out, nil
}

func putEarlyDemux(s *State, r *request) (any, error) {
	var b SetEarlyDemux
	if err := r.body(&b); err != nil {
		return nil, err
	}
	if b.Proto != "ip" && b.Proto != "tcp" && b.Proto != "udp" {
		return nil, badRequest("proto: %q: want ip, tcp or udp", b.Proto)
	}
	if err := s.checkVRF(b.VRF); err != nil {
		return nil, err
	}
	word := map[bool]string{true: "on", false: "off"}[b.On]
	vrfs := s.concerned(b.VRF)
	c, err := s.execute(command.EarlyDemux{Proto: b.Proto, On: &b.On, VRF: b.VRF},
		fmt.Sprintf("%s early demux is %s in %s", b.Proto, word, strings.Join(vrfs, ", ")),
		"%s", strings.TrimSpace("early-demux "+b.Proto+" "+word+" "+b.VRF))
	return inVRFs(c, vrfs), err
}

func inVRFs(c any, vrfs []string) any {
	if x, ok := c.(Changed); ok {
		x.VRFs = vrfs
		return x
	}
	return c
}

func getSysctl(s *State, r *request) (any, error) {
	q, err := r.query("name", "vrf")
	if err != nil {
		return nil, err
	}
	if err := s.checkVRF(q.Get("vrf")); err != nil {
		return nil, err
	}
	name := q.Get("name")
	if name != "" {
		info, err := command.FindSysctl(name)
		if err != nil {
			return nil, noSuch("%v", err)
		}
		name = info.Name
	}
	out := Sysctls{Epoch: s.o.Host.Engine.Epoch(), Values: []SysctlValue{}}
	v := s.o.Host.Engine.View()
	for i := range command.Sysctls {
		info := &command.Sysctls[i]
		if name != "" && info.Name != name {
			continue
		}
		if info.Global {
			if q.Get("vrf") == "" {
				out.Values = append(out.Values, SysctlValue{Name: info.Name, Value: sysctlText(v, 0, info.Name), ReadOnly: info.SetOnly})
			}
			continue
		}
		for j := range v.VRFs {
			if n := q.Get("vrf"); v.VRFs[j].Name != "" && (n == "" || n == v.VRFs[j].Name) {
				out.Values = append(out.Values, SysctlValue{v.VRFs[j].Name, info.Name, sysctlText(v, j, info.Name), info.ReadOnly})
			}
		}
	}
	return out, nil
}

// sysctlText is the value of a sysctl as it would be written.
func sysctlText(v *demux.View, vrf int, name string) string {
	r := &v.VRFs[vrf]
	k := &r.Sysctl
	b := func(on bool) string { return strconv.Itoa(int(bit(on))) }
	switch name {
	case "ip_early_demux":
		return b(k.IPEarlyDemux)
	case "tcp_early_demux":
		return b(k.TCPEarlyDemux)
	case "udp_early_demux":
		return b(k.UDPEarlyDemux)
	case "ip_local_port_range":
		return fmt.Sprintf("%d %d", k.PortLow, k.PortHigh)
	case "ip_local_reserved_ports":
		return reservedText(k)
	case "tcp_tw_reuse":
		return strconv.Itoa(k.TCPTwReuse)
	case "tcp_migrate_req":
		return b(k.TCPMigrateReq)
	case "tcp_max_syn_backlog":
		return strconv.Itoa(k.TCPMaxSynBacklog)
	case "tcp_max_tw_buckets":
		return strconv.Itoa(k.TCPMaxTwBuckets)
	case "tcp_midstream":
		return b(k.TCPMidstream)
	case "tcp_idle_timeout":
		return strconv.FormatInt(k.TCPIdleTimeout/1e9, 10)
	case "tcp_l3mdev_accept":
		return b(v.TCPL3mdevAccept)
	case "udp_l3mdev_accept":
		return b(v.UDPL3mdevAccept)
	case "tcp_ehash_entries":
		return entries(r, true)
	case "udp_hash_entries":
		return entries(r, false)
	case "early_demux_match":
		if v.MatchExact {
			return "exact"
		}
		return "linux"
	}
	return ""
}

// entries is the size of a table in buckets, negative when it is default's.
func entries(r *demux.VRF, tcp bool) string {
	sp := r.UDP
	if tcp {
		sp = r.TCP
	}
	st := sp.Table().Stats()
	n := int64(st.Buckets)
	if n == 0 {
		n = int64(st.Start) // nothing was entered yet
	}
	if r.Index != 0 && st.Shared {
		n = -n
	}
	return strconv.FormatInt(n, 10)
}

// reservedText is ip_local_reserved_ports as ports and ranges.
func reservedText(k *demux.Sysctl) string {
	var parts []string
	for p := 0; p < 1<<16; p++ {
		if !k.ReservedPort(uint16(p)) {
			continue
		}
		low := p
		for p+1 < 1<<16 && k.ReservedPort(uint16(p+1)) {
			p++
		}
		if low == p {
			parts = append(parts, strconv.Itoa(p))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", low, p))
		}
	}
	return strings.Join(parts, ",")
}

func putSysctl(s *State, r *request) (any, error) {
	var b SetSysctl
	if err := r.body(&b); err != nil {
		return nil, err
	}
	info, err := command.FindSysctl(b.Name)
	if err != nil {
		return nil, noSuch("%v", err)
	}
	if err := s.checkVRF(b.VRF); err != nil {
		return nil, err
	}
	if info.Global && b.VRF != "" {
		return nil, badRequest("%s is one for all VRFs", info.Name)
	}
	if err := info.Check(b.Value); err != nil {
		return nil, badRequest("%v", err)
	}
	value := b.Value
	if strings.Contains(value, " ") {
		value = strconv.Quote(value)
	}
	vrfs := s.concerned(b.VRF)
	did := fmt.Sprintf("%s is %s", info.Name, value)
	if info.Global {
		vrfs = nil
	} else {
		did += " in " + strings.Join(vrfs, ", ")
	}
	c, err := s.execute(command.Sysctl{Name: info.Name, Value: b.Value, Set: true, VRF: b.VRF}, did,
		"%s", strings.TrimSpace("sysctl "+info.Name+"="+value+" "+b.VRF))
	return inVRFs(c, vrfs), err
}

func postSocket(s *State, r *request) (any, error) {
	var b Bind
	if err := r.body(&b); err != nil {
		return nil, err
	}
	if b.Spec == "" {
		return nil, badRequest("spec: want a mapping as an entry of sockets in the configuration")
	}
	return s.execute(command.Bind{Spec: b.Spec, Col: 1}, "the socket is open", "bind %s", b.Spec)
}

func postConnect(s *State, r *request) (any, error) {
	var b Connect
	if err := r.body(&b); err != nil {
		return nil, err
	}
	if b.Spec != "" {
		if b.Socket != "" || b.Remote != "" || b.Laddr != "" {
			return nil, badRequest("want spec, or socket with remote")
		}
		return s.execute(command.Connect{Spec: b.Spec, Col: 1}, "the socket is connected", "connect %s", b.Spec)
	}
	c := command.Connect{Socket: b.Socket}
	var err error
	if c.Faddr, err = netip.ParseAddrPort(b.Remote); err != nil || c.Faddr.Port() == 0 || c.Faddr.Addr().Zone() != "" {
		return nil, badRequest("remote: %q: want ADDR:PORT, for IPv6 [ADDR]:PORT", b.Remote)
	}
	note := "connect " + b.Socket + " " + b.Remote
	if b.Laddr != "" {
		if c.Laddr, err = netip.ParseAddr(b.Laddr); err != nil || c.Laddr.Is4() != c.Faddr.Addr().Is4() {
			return nil, badRequest("laddr: %q: want an address of the family of remote", b.Laddr)
		}
		note += " --laddr " + b.Laddr
	}
	if s.lookup(b.Socket) == 0 {
		return nil, noSuch("no socket %q", b.Socket)
	}
	return s.execute(c, fmt.Sprintf("%s is connected to %s", b.Socket, b.Remote), "%s", note)
}

// lookup finds a socket by name.
func (s *State) lookup(name string) demux.SockID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.Host.Builder.Lookup(name)
}

func deleteSocket(s *State, r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	found := false
	v := s.o.Host.Engine.View()
	v.Socks(func(id demux.SockID, _ *demux.Sock) bool {
		found = isOrHas(v.Name(id), name)
		return !found
	})
	if !found {
		return nil, noSuch("no socket %q", name)
	}
	return s.execute(command.Close{Socket: name}, name+" is closed", "close %s", name)
}

func postClear(s *State, r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	s.snaps.clear(s)
	return Changed{Epoch: s.o.Host.Engine.Epoch(), Did: "counters start at zero"}, nil
}

func postShutdown(s *State, r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	s.o.Runtime.Shutdown("asked to by the control socket")
	return Changed{Epoch: s.o.Host.Engine.Epoch(), Did: "draining"}, nil
}
