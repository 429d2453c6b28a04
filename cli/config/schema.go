package config

import (
	"io/fs"
	"net"
	"net/netip"
	"time"

	"edemux/flowtable"
)

// rootSpec is the table of the top-level keys, in the order of the example.
var rootSpec = &spec[Config]{what: "configuration", keys: []key[Config]{
	scalar("secret", secret, "", "hash secret; absent: random in run, a documented constant in replay",
		func(c *Config) **flowtable.Secret { return &c.Secret }).shown("000102030405060708090a0b0c0d0e0f"),
	object("checksums", "what is verified; captures taken on the sender have unfinished L4 sums", checksumsSpec,
		func(c *Config) *Checksums { return &c.Checksums }),
	scalar("early_demux_match", mapped(word[Match]("linux", "exact"), func(m Match) Match { return m + MatchLinux }), "",
		"linux: UDP hits only the head of its (addr, port) chain; exact: any connected flow; absent: linux in replay, explain and judge, exact in run and bench pipeline",
		func(c *Config) *Match { return &c.Match }).shown("linux"),
	object("sysctl", "what Linux has per netns and edemux once", globalSysctlSpec,
		func(c *Config) *GlobalSysctl { return &c.Sysctl }),
	scalars("lcores", integer[int](0, 4095), "CPUs that poll (in replay --lcores is a count)",
		func(c *Config) *[]int { return &c.Lcores }),
	scalars("eal", line("EAL argument", 4096), "further EAL arguments",
		func(c *Config) *[]string { return &c.EAL }),
	object("control", "control socket and metrics of run", controlSpec,
		func(c *Config) *Control { return &c.Control }),
	object("limits", "memory beside the flow tables", limitsSpec,
		func(c *Config) *Limits { return &c.Limits }),
	objects("ports", "where frames come from; without ports, replay names them after the captures", portSpec,
		func(c *Config) *[]Port { return &c.Ports }),
	objects("vrfs", "as Linux VRF devices, each with tables and sysctls of its own; default is always there", vrfSpec,
		func(c *Config) *[]VRF { return &c.VRFs }),
	objects("workers", "pools of workers, who own sockets", poolSpec,
		func(c *Config) *[]Pool { return &c.Workers }),
	objects("sockets", "created in this order, which counts as in Linux", socketSpec,
		func(c *Config) *[]Socket { return &c.Sockets }),
	object("flows", "many connected sockets", flowsSpec,
		func(c *Config) *Flows { return &c.Flows }),
	objects("rules", "as BPF sk_lookup: after established flows, before listeners; first match wins", ruleSpec,
		func(c *Config) *[]Rule { return &c.Rules }),
	scalar("script", line("file name", 4096), "", "commands at frames or times, as --script",
		func(c *Config) *string { return &c.Script }).fileName("events.txt"),
}}

// number is the value of a switch that later may have more than two.
func number(on bool) int {
	if on {
		return 1
	}
	return 0
}

var verify = mapped(word[Full]("verify", "trust"), func(i Full) bool { return i == 0 })

var checksumsSpec = &spec[Checksums]{what: "checksums", keys: []key[Checksums]{
	scalar("ip", verify, "verify", "IPv4 header", func(c *Checksums) *bool { return &c.IP }),
	scalar("l4", verify, "trust", "TCP and UDP", func(c *Checksums) *bool { return &c.L4 }),
}}

var globalSysctlSpec = &spec[GlobalSysctl]{what: "global sysctl",
	elsewhere: elsewhereVRFSysctl(),
	keys: []key[GlobalSysctl]{
		scalar("tcp_l3mdev_accept", bit, "0", "unbound TCP sockets take packets of every VRF",
			func(s *GlobalSysctl) *bool { return &s.TCPL3mdevAccept }),
		scalar("udp_l3mdev_accept", bit, "0", "unbound UDP sockets take packets of every VRF",
			func(s *GlobalSysctl) *bool { return &s.UDPL3mdevAccept }),
	}}

// elsewhereVRFSysctl says of each sysctl of a VRF that it belongs there.
func elsewhereVRFSysctl() map[string]string {
	m := map[string]string{}
	for k, v := range readOnly {
		m[k] = v
	}
	for i := range sysctlSpec.keys {
		m[sysctlSpec.keys[i].name] = "write it into the sysctl of a VRF, as vrfs: [{name: default, sysctl: {...}}]"
	}
	return m
}

var controlSpec = &spec[Control]{what: "control", keys: []key[Control]{
	scalar("socket", line("path", 4096), "/run/edemux/edemux.sock", "unix socket of ctl, shell and top",
		func(c *Control) *string { return &c.Socket }),
	scalar("mode", fileMode, `"0600"`, "its mode, octal", func(c *Control) *fs.FileMode { return &c.Mode }),
	scalar("metrics", metricsAddr, "127.0.0.1:9464", `/metrics, /healthz, /readyz; "": none`,
		func(c *Control) *netip.AddrPort { return &c.Metrics }),
}}

var limitsSpec = &spec[Limits]{what: "limits", keys: []key[Limits]{
	scalar("frag_bytes", integer[int64](65536, 1<<36), "4194304", "fragments held for reassembly, bytes",
		func(l *Limits) *int64 { return &l.FragBytes }),
	scalar("conversations", integer[int](1, 1<<28), "1048576", "endpoint pairs remembered by --local auto",
		func(l *Limits) *int { return &l.Conversations }),
}}

var portSpec = &spec[Port]{what: "port",
	elsewhere: map[string]string{
		"pcap": "write source: {pcap: FILE}", "dpdk": "write source: {dpdk: DEVICE}",
		"loop": "write it into source", "speed": "write it into source"},
	keys: []key[Port]{
		scalar("name", name, "", "interface name, unique among ports, sub-interfaces and VRFs",
			func(p *Port) *string { return &p.Name }).needed("eth0"),
		object("source", "absent: the command line names the capture", sourceSpec,
			func(p *Port) *Source { return &p.Source }),
		scalar("mac", mac, "", "when known, unicast to other MACs is OTHERHOST; run takes the device's",
			func(p *Port) *net.HardwareAddr { return &p.MAC }).shown("02:00:00:00:00:01"),
		scalar("queues", integer[int](1, 256), "1", "RSS queues", func(p *Port) *int { return &p.Queues }),
		scalars("cpus", integer[int](0, 4095), "CPU number of each queue; empty: the queue's index",
			func(p *Port) *[]int { return &p.CPUs }),
		vlansKey(),
	}}

var sourceSpec = &spec[Source]{what: "source", keys: []key[Source]{
	scalar("pcap", line("file name", 4096), "", "capture: pcap or pcapng, also gzip or zstd",
		func(s *Source) *string { return &s.PCAP }).fileName("in.pcapng"),
	scalar("dpdk", line("EAL device", 4096), "", "or a device: PCI address or EAL device string",
		func(s *Source) *string { return &s.DPDK }).shown(`"net_af_packet0,iface=veth0"`),
	scalar("loop", integer[int](0, 1<<31-1), "1", "passes over the capture; 0: for ever",
		func(s *Source) *int { return &s.Loop }),
	scalar("speed", speed, "max", "max, real, Nx or Npps", func(s *Source) *Speed { return &s.Speed }),
}}

var vrfSpec = &spec[VRF]{what: "VRF",
	elsewhere: map[string]string{"to": "write it into routes", "via": "write it into routes"},
	keys: []key[VRF]{
		scalar("name", name, "", "default, or the name of a VRF device", func(v *VRF) *string { return &v.Name }).needed("red"),
		scalars("interfaces", ref("interface"), "enslaved: dif is the VRF, sdif the interface; default holds all others",
			func(v *VRF) *[]Ref { return &v.Interfaces }),
		optional("ehash", "flow tables; absent: share those of default", ehashSpec,
			func(v *VRF) **Ehash { return &v.Ehash }),
		localKey(),
		scalars("broadcast", address("IPv4 address", func(a netip.Addr) *fault {
			if !a.Is4() || a.IsMulticast() {
				return &fault{"not an IPv4 broadcast address", "write one, as 10.0.0.255"}
			}
			return nil
		}), "broadcast addresses", func(v *VRF) *[]netip.Addr { return &v.Broadcast }),
		objects("routes", "what is not local is forwarded by the longest match; no route: IP_INNOROUTES", routeSpec,
			func(v *VRF) *[]Route { return &v.Routes }),
		object("sysctl", "as in /proc/sys/net/ipv4, both families", sysctlSpec, func(v *VRF) *Sysctl { return &v.Sysctl }),
	}}

// localKey tells an absent list (every address) from an empty one (none).
func localKey() key[VRF] {
	k := scalars("local", prefix, "addresses and prefixes delivered here; absent: every address",
		func(v *VRF) *[]netip.Prefix { return &v.Local }).shown(`[10.0.0.0/24, "2001:db8::/64"]`)
	read := k.set
	k.def = ""
	k.init = func(v *VRF) { v.EveryLocal = true }
	k.set = func(d *decoder, n *node, v *VRF) {
		v.EveryLocal = false
		read(d, n, v)
	}
	return k
}

var ehashSpec = &spec[Ehash]{what: "ehash", elsewhere: readOnly, keys: []key[Ehash]{
	scalar("tcp", power[uint32](1, 1<<30), "65536", "start size in buckets, a power of two",
		func(e *Ehash) *uint32 { return &e.TCP }),
	scalar("udp", power[uint32](1, 1<<30), "1024", "start size in buckets, a power of two",
		func(e *Ehash) *uint32 { return &e.UDP }),
	scalar("max", power[uint32](1, 1<<30), "16777216", "largest size of each table in buckets; equal to the start size: fixed, as in Linux",
		func(e *Ehash) *uint32 { return &e.Max }),
	scalar("flows", natural[uint64](1, 1<<32), "16777216", "most flows", func(e *Ehash) *uint64 { return &e.Flows }),
	scalar("full", word[Full]("drop", "evict", "pass"), "drop", "at that number: drop the new one, evict an old half-open one, or pass without state",
		func(e *Ehash) *Full { return &e.Full }),
}}

var routeSpec = &spec[Route]{what: "route", keys: []key[Route]{
	scalar("to", prefix, "", "destination", func(r *Route) *netip.Prefix { return &r.To }).needed("0.0.0.0/0"),
	scalar("via", ref("interface"), "", "interface", func(r *Route) *Ref { return &r.Via }).needed("eth0"),
}}

// readOnly are reports that look like settings.
var readOnly = map[string]string{
	"tcp_ehash_entries": "it is a read-only report of the table's size; write ehash: {tcp: BUCKETS}",
	"udp_hash_entries":  "it is a read-only report of the table's size; write ehash: {udp: BUCKETS}",
}

var sysctlSpec = &spec[Sysctl]{what: "VRF sysctl",
	elsewhere: map[string]string{
		"tcp_ehash_entries":       readOnly["tcp_ehash_entries"],
		"udp_hash_entries":        readOnly["udp_hash_entries"],
		"tcp_child_ehash_entries": "write ehash: {tcp: BUCKETS}", "udp_child_hash_entries": "write ehash: {udp: BUCKETS}",
		"tcp_l3mdev_accept": "write it into the top-level sysctl", "udp_l3mdev_accept": "write it into the top-level sysctl",
		"early_demux_match": "write it at the top level"},
	keys: []key[Sysctl]{
		scalar("ip_early_demux", bit, "1", "early demux at all", func(s *Sysctl) *bool { return &s.IPEarlyDemux }),
		scalar("tcp_early_demux", bit, "1", "of TCP", func(s *Sysctl) *bool { return &s.TCPEarlyDemux }),
		scalar("udp_early_demux", bit, "1", "of UDP", func(s *Sysctl) *bool { return &s.UDPEarlyDemux }),
		scalar("ip_local_port_range", localRange, `"32768 60999"`, "source ports of connect",
			func(s *Sysctl) *PortRange { return &s.LocalPortRange }),
		scalar("ip_local_reserved_ports", reservedPorts, `""`, `never chosen by connect, as "8080,9000-9010"`,
			func(s *Sysctl) *[]PortRange { return &s.ReservedPorts }),
		scalar("tcp_tw_reuse", integer[int](0, 2), "2", "0: no, 1: yes, 2: loopback only",
			func(s *Sysctl) *int { return &s.TCPTwReuse }),
		scalar("tcp_migrate_req", mapped(bit, number), "0", "a closing listener hands its requests to the group",
			func(s *Sysctl) *int { return &s.TCPMigrateReq }),
		scalar("tcp_max_syn_backlog", integer[int](1, 1<<31-1), "", "half-open flows; absent: max(128, start size of the TCP table / 128)",
			func(s *Sysctl) *int { return &s.TCPMaxSynBacklog }).shown("512"),
		scalar("tcp_max_tw_buckets", integer[int](0, 1<<31-1), "", "TIME_WAIT entries; absent: start size of the TCP table / 2",
			func(s *Sysctl) *int { return &s.TCPMaxTwBuckets }).shown("32768"),
		scalar("tcp_midstream", mapped(bit, number), "0", "1: a flow seen first in its middle is taken up",
			func(s *Sysctl) *int { return &s.TCPMidstream }),
		scalar("tcp_idle_timeout", mapped(integer[int64](0, 1<<31-1), func(n int64) time.Duration { return time.Duration(n) * time.Second }),
			"0", "seconds without a packet after which an established flow ends; 0: never",
			func(s *Sysctl) *time.Duration { return &s.TCPIdleTimeout }),
	}}
