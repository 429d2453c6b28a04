package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

var poolSpec = &spec[Pool]{what: "worker pool",
	elsewhere: map[string]string{"queues": "write it into the port"},
	keys: []key[Pool]{
		scalar("name", name, "", "workers are NAME/0, NAME/1, ...", func(p *Pool) *string { return &p.Name }).needed("web"),
		scalar("count", integer[int](1, 4096), "1", "workers", func(p *Pool) *int { return &p.Count }),
		scalar("handler", handler, "count", "count, touch (reads the payload), pcap, echo, or port:NAME (sends it there)",
			func(p *Pool) *Handler { return &p.Handler }),
		scalar("ring", power[int](2, 1<<20), "1024", "packets that may wait, a power of two", func(p *Pool) *int { return &p.Ring }),
		scalars("lcores", integer[int](0, 4095), "member i on lcores[i mod n]; empty: on the polling lcore",
			func(p *Pool) *[]int { return &p.Lcores }),
	}}

var protocol = kind[uint8]{"tcp|udp", func(v *node) (uint8, *fault) {
	w, f := word[uint8]("tcp", "udp").parse(v)
	return [2]uint8{6, 17}[w], f
}}

var socketSpec = &spec[Socket]{what: "socket",
	elsewhere: map[string]string{
		"vrf":  "write dev: VRF, as SO_BINDTODEVICE",
		"asm":  "write steer: {asm: TEXT}",
		"cbpf": "write steer: {cbpf: FILE}"},
	keys: []key[Socket]{
		scalar("name", name, "", "with workers also the name of the group", func(s *Socket) *string { return &s.Name }).needed("web443"),
		scalar("proto", protocol, "", "tcp or udp", func(s *Socket) *uint8 { return &s.Proto }).needed("udp"),
		scalar("bind", endpoint, "", "local address; absent: the wildcard, for connect", func(s *Socket) *netip.AddrPort { return &s.Bind }).shown(`"0.0.0.0:443"`),
		scalar("connect", endpoint, "", "remote address; without a local port one is chosen as Linux does", func(s *Socket) *netip.AddrPort { return &s.Connect }).shown(`"10.0.0.9:9000"`),
		scalar("laddr", address("IP address", func(a netip.Addr) *fault {
			if a.IsUnspecified() || a.IsMulticast() {
				return &fault{"not the address of a host", "write an address of this host"}
			}
			return nil
		}), "", "what a wildcard-bound socket gets at connect; absent: the VRF's first host address in local", func(s *Socket) *netip.Addr { return &s.Laddr }).shown("10.0.0.1"),
		scalar("dev", ref("interface or VRF"), "", "SO_BINDTODEVICE: an interface, or a VRF; absent: unbound, in default", func(s *Socket) *Ref { return &s.Dev }).shown("red"),
		scalar("worker", workerRef, "", "owner, POOL/INDEX", func(s *Socket) *WorkerRef { return &s.Worker }).shown("web/0"),
		scalar("workers", ref("worker pool"), "", "or a pool: one socket NAME/0.. per worker, all with reuseport", func(s *Socket) *Ref { return &s.Workers }).shown("web"),
		scalar("reuseport", boolean, "false", "SO_REUSEPORT; the group is called after its first member", func(s *Socket) *bool { return &s.Reuseport }),
		scalar("reuseaddr", boolean, "false", "SO_REUSEADDR", func(s *Socket) *bool { return &s.Reuseaddr }),
		scalar("v6only", boolean, "false", "IPV6_V6ONLY", func(s *Socket) *bool { return &s.V6Only }),
		scalar("uid", natural[uint32](0, 1<<32-2), "0", "owner; members of a group share it", func(s *Socket) *uint32 { return &s.UID }),
		scalar("backlog", integer[int](0, 1<<31-1), "4096", "of listen()", func(s *Socket) *int { return &s.Backlog }),
		scalar("incoming_cpu", integer[int32](-1, 4095), "-1", "SO_INCOMING_CPU; -1: none", func(s *Socket) *int32 { return &s.IncomingCPU }),
		scalar("no_check6_rx", boolean, "false", "UDP_NO_CHECK6_RX: takes IPv6 datagrams with checksum 0", func(s *Socket) *bool { return &s.NoCheck6Rx }),
		optional("steer", "how the group picks its member; absent: by hash", steerSpec, func(s *Socket) **Steer { return &s.Steer }),
		objects("join", "multicast groups", joinSpec, func(s *Socket) *[]Join { return &s.Join }),
	}}

var steerSpec = &spec[Steer]{what: "steer", keys: []key[Steer]{
	scalar("asm", str("bpf_asm text", func(s string) *fault {
		if strings.TrimSpace(s) == "" {
			return &fault{"empty program", `write one, as "ld [0]; mod #4; ret a"`}
		}
		return nil
	}), "", "classic BPF; lines end with ; or a line break", func(s *Steer) *string { return &s.ASM }).shown(`"ld [0]; mod #4; ret a"`),
	scalar("cbpf", line("file name", 4096), "", "a file of the same, or the numbers of tcpdump -ddd", func(s *Steer) *string { return &s.CBPF }).fileName("dns.bpf"),
	scalar("mode", mapped(word[uint8]("hash", "cpu"), func(i uint8) string { return [2]string{"hash", "cpu"}[i] }), "", "hash, or cpu: member i takes the packets of CPU i, the hash spreads the others", func(s *Steer) *string { return &s.Mode }).shown("hash"),
}}

func groupAddress(a netip.Addr) *fault {
	if !a.IsMulticast() || a.Is4In6() {
		return &fault{"not a multicast group", "write one, as 239.1.2.3 or ff02::1:2"}
	}
	return nil
}

func sourceAddress(a netip.Addr) *fault {
	if a.IsMulticast() || a.IsUnspecified() || a.Is4In6() {
		return &fault{"not the address of a sender", "write a unicast address"}
	}
	return nil
}

var joinSpec = &spec[Join]{what: "join", keys: []key[Join]{
	scalar("group", address("multicast address", groupAddress), "", "the group's address", func(j *Join) *netip.Addr { return &j.Group }).needed("239.1.2.3"),
	scalar("dev", ref("interface"), "", "where it is joined", func(j *Join) *Ref { return &j.Dev }).needed("eth0"),
	scalars("include", address("source address", sourceAddress), "only these senders; empty: any", func(j *Join) *[]netip.Addr { return &j.Include }),
}}

var flowsSpec = &spec[Flows]{what: "flows", keys: []key[Flows]{
	scalar("udp", line("file name", 4096), "", "per line: laddr lport faddr fport worker [vrf], separated by tabs",
		func(f *Flows) *string { return &f.UDP }).fileName("flows.tsv"),
}}

var ruleSpec = &spec[Rule]{what: "rule",
	elsewhere: map[string]string{"dev": "write vrf: NAME", "worker": "write socket: NAME", "workers": "write socket: NAME",
		"sport": "rules see the destination: write ports", "src": "rules see the destination: write dst", "dport": "write ports"},
	keys: []key[Rule]{
		scalar("proto", protocol, "", "tcp or udp", func(r *Rule) *uint8 { return &r.Proto }).needed("tcp"),
		scalar("vrf", ref("VRF"), "", "absent: every VRF", func(r *Rule) *Ref { return &r.VRF }).shown("red"),
		scalar("dst", prefix, "", "destination; absent: any address of both families", func(r *Rule) *netip.Prefix { return &r.Dst }).shown("192.0.2.0/24"),
		scalar("ports", portRange, "0-65535", "destination ports, PORT or LOW-HIGH", func(r *Rule) *PortRange { return &r.Ports }),
		scalar("socket", socketRef, "", "target: a listener or an unconnected socket, or a group", func(r *Rule) *Ref { return &r.Socket }).needed("web443"),
	}}

// vlansKey reads `vlans`: a mapping from tag stack to sub-interface, or any.
func vlansKey() key[Port] {
	return key[Port]{name: "vlans", typ: "any, or mapping VID[.VID...]: NAME", def: "{}",
		doc: "sub-interface per tag stack, outermost first; any: every stack belongs to the port; no match: NO_VRF",
		set: func(d *decoder, v *node, p *Port) {
			if v.class == classString && v.Text == "any" {
				p.VLANs.Any = true
				return
			}
			if v.class != classMap {
				d.fault(v, &fault{"neither any nor a mapping", `write any, or {10: eth0.10, "100.20": eth0.100.20}`})
				return
			}
			seen := map[string]int{}
			for i, k := range v.keys {
				stack, f := parseStack(k)
				if f != nil {
					d.fault(k, f)
					continue
				}
				if line, dup := seen[k.Text]; dup {
					d.fault(k, &fault{fmt.Sprintf("VLAN stack used twice (first in line %d)", line), "keep one"})
					continue
				}
				seen[k.Text] = k.Line
				r, f := ref("interface name").parse(v.vals[i])
				if f != nil {
					d.fault(v.vals[i], f)
					continue
				}
				p.VLANs.Sub = append(p.VLANs.Sub, Sub{Ref: r, Stack: stack})
			}
		}}
}

// parseStack reads the VIDs of a tag stack from the text of a key, outermost
// first. The text is canonical, so equal stacks have equal texts.
func parseStack(k *node) ([]uint16, *fault) {
	const want = `write VIDs from 1 to 4094 joined by dots, as "100.20"`
	if k.class == classList || k.class == classMap {
		return nil, wrongClass(k.class, "a tag stack")
	}
	parts := strings.Split(k.Text, ".")
	if len(parts) > 4 {
		return nil, &fault{"more than four tags", "write at most four"}
	}
	var out []uint16
	for _, s := range parts {
		n, err := strconv.Atoi(s)
		switch {
		case err != nil || strconv.Itoa(n) != s:
			return nil, &fault{"not a tag stack", want}
		case n == 0:
			return nil, &fault{"VID 0 is untagged", "use the port itself"}
		case n < 0 || n > 4094:
			return nil, &fault{fmt.Sprintf("VID %d is not 1 to 4094", n), want}
		}
		out = append(out, uint16(n))
	}
	return out, nil
}
