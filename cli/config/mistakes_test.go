package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// base is a small valid configuration; a mistake is spliced in at %s.
const pools = "workers:\n  - {name: dns, count: 2}\n  - {name: web, count: 4}\n"

// mistakes are configurations and the error line that each gives, without the
// "config: f.yaml:" that all share.
var mistakes = []struct{ name, text, want string }{
	// structure
	{"unknown key", "prots: []\n", "1:1: prots: unknown key of configuration: write ports"},
	{"unknown key, far off", "nonsense: 1\n", "1:1: nonsense: unknown key of configuration: the keys here are secret, checksums, early_demux_match, sysctl, lcores, eal, control, limits, ports, vrfs, workers, sockets, flows, rules, script"},
	{"unknown key in a list", "ports:\n  - name: eth0\n    queue: 2\n", "3:5: queue: unknown key of port: write queues"},
	{"later key", "sockets:\n  - {name: a, proto: udp, bind: \"1.1.1.1:1\", worker: dns/0, reuseport: true, steer: {program: x}}\n" + pools, "2:86: program: unknown key of steer: the keys here are asm, cbpf, mode"},
	{"later mode", "sockets:\n  - {name: a, proto: udp, bind: \"1.1.1.1:1\", worker: dns/0, reuseport: true, steer: {mode: maglev}}\n" + pools, "2:92: maglev: not allowed here: write hash or cpu"},
	{"twice", "lcores: [1]\nlcores: [2]\n", "2:1: lcores: given twice (first in line 1): keep one"},
	{"no value", "lcores:\neal: []\n", "1:1: lcores: key without a value: give it [number 0..4095, ...], or remove the line"},
	{"not a mapping", "- a\n", "1:1: -: a list in the wrong place: write a mapping of configuration keys: secret, checksums, early_demux_match, sysctl, lcores, eal, control, limits, ports, vrfs, workers, sockets, flows, rules, script"},
	{"scalar for list", "lcores: 3\n", "1:9: 3: a number in the wrong place: write a list, as [3]"},
	{"mapping for list of objects", "workers: {name: web}\n", "1:10: {: a mapping in the wrong place: write a list: each worker pool begins with a dash, as - {...}"},
	{"list for scalar", "script: [a]\n", "1:9: [: a list in the wrong place: write a file name"},
	{"missing key", "workers:\n  - count: 2\n", "2:5: count: worker pool without name: add name: web"},
	{"anchor", "lcores: &x [1]\n", "1:9: &: anchors and aliases are not supported: write the value out"},
	{"alias", "lcores: *x\n", "1:9: *: anchors and aliases are not supported: write the value out"},
	{"merge", "<<: {a: 1}\n", "1:1: <<: merge keys are not supported: write the keys out"},
	{"tag", "script: !!str a\n", "1:9: !!str: tags are not supported: write the value without a tag"},
	{"directive", "%YAML 1.2\n---\nlcores: [1]\n", "1:1: %: directives are not supported: remove the line"},
	{"documents", "lcores: [1]\n---\nlcores: [1]\n", "3:1: lcores: second YAML document: keep one document in a file"},
	{"tab", "limits:\n\tfrag_bytes: 1\n", "2:1: YAML: found character '\\x09' that cannot start any token: indent with spaces"},
	{"open bracket", "lcores: [1, 2\n", "1:9: [: YAML: sequence end token ']' not found: close every bracket"},
	{"open bracket, next key", "lcores: [1, 2\neal: []\n", "1:9: [: bracket is not closed: close every bracket"},
	{"open brace in a list", "workers:\n  - {name: a\n  - {name: b}\n", "2:5: {: bracket is not closed: close every bracket"},
	{"wrong on the second line", "limits: {frag_bytes: 65536,\n  conversations: 5]}\n", "2:18: 5]: not a number: write a number from 1 to 268435456"},
	{"open quote", "script: \"a\neal: [\"x\"]\n", "1:9: quote is not closed on its line: close it (for text of several lines write | and indent the lines)"},
	{"unquoted v6", "sockets:\n  - {name: a, bind: [::]:53}\n", "2:22: :: YAML: found an invalid key for this map: put the address into quotes, as \"[::]:53\""},
	{"no space", "a:1\nb: 2\n", "1:1: a:1 b: YAML: unexpected key name: write a space after the colon"},
	{"not UTF-8", "script: a\xff\n", "1:10: byte 0xff is not UTF-8: save the file as UTF-8"},
	{"control character", "script: a\x07\n", "1:10: control character U+0007: remove it"},

	// scalars
	{"word", "checksums: {ip: verfiy}\n", "1:17: verfiy: not allowed here: write verify"},
	{"match", "early_demux_match: 1\n", "1:20: 1: not allowed here: write linux or exact"},
	{"secret short", "secret: 0001\n", "1:9: 0001: 4 hex digits, not 32: write 32 hex digits, as 000102030405060708090a0b0c0d0e0f"},
	{"secret not hex", "secret: 0g0102030405060708090a0b0c0d0e0f\n", "1:9: 0g0102030405060708090a0b0c0d0e0f: not hexadecimal: write 32 hex digits, as 000102030405060708090a0b0c0d0e0f"},
	{"mode", "control: {mode: 384}\n", "1:17: 384: not a file mode: write three or four octal digits, as \"0600\""},
	{"metrics host", "control: {metrics: \"localhost:9464\"}\n", "1:20: localhost:9464: not an IP address: write an address (names are not resolved), as 10.0.0.1 or 2001:db8::1"},
	{"metrics without host", "control: {metrics: \":9464\"}\n", "1:20: :9464: no address: write \"0.0.0.0:9464\" for IPv4 or \"[::]:9464\" for both families"},
	{"range", "limits: {frag_bytes: 1}\n", "1:22: 1: out of range: write a number from 65536 to 68719476736"},
	{"hex", "limits: {conversations: 0x10}\n", "1:25: 0x10: not a plain decimal number: write a number from 1 to 268435456"},
	{"underscore", "limits: {conversations: 1_000}\n", "1:25: 1_000: number with underscores: write 1000"},
	{"quoted number", "limits: {conversations: \"10\"}\n", "1:25: 10: text where a number belongs: write 10 without quotes"},
	{"lcore twice", "lcores: [1, 2, 1]\n", "1:9: [: CPU 1 listed twice: list each once"},
	{"switch", "sysctl: {tcp_l3mdev_accept: yes}\n", "1:29: yes: a switch is 0 or 1: write 1"},
	{"switch 2", "sysctl: {tcp_l3mdev_accept: 2}\n", "1:29: 2: not allowed here: write 0 or 1"},
	{"sysctl in the wrong place", "sysctl: {udp_early_demux: 0}\n", "1:10: udp_early_demux: not a key of global sysctl: write it into the sysctl of a VRF, as vrfs: [{name: default, sysctl: {...}}]"},

	// ports
	{"port without name", "ports:\n  - queues: 2\n", "2:5: queues: port without name: add name: eth0"},
	{"bad name", "ports:\n  - name: eth 0\n", "2:11: eth 0: not a name: write 1 to 31 of A-Z a-z 0-9 _ . -"},
	{"number as name", "ports:\n  - name: 10\n", "2:11: 10: a number where a name belongs: write \"10\" in quotes if it is meant"},
	{"mac", "ports:\n  - {name: a, mac: 02:00:00:00:00}\n", "2:20: 02:00:00:00:00: not a MAC address: write six hex bytes, as 02:00:00:00:00:01"},
	{"multicast mac", "ports:\n  - {name: a, mac: 01:00:5e:00:00:01}\n", "2:20: 01:00:5e:00:00:01: a multicast MAC address: write the address of the port (first byte even)"},
	{"VID range", "ports:\n  - name: a\n    vlans: {4095: x}\n", "3:13: 4095: VID 4095 is not 1 to 4094: write VIDs from 1 to 4094 joined by dots, as \"100.20\""},
	{"VID 0", "ports:\n  - name: a\n    vlans: {0: x}\n", "3:13: 0: VID 0 is untagged: use the port itself"},
	{"VLAN twice", "ports:\n  - name: a\n    vlans: {100.20: x, \"100.20\": y}\n", "3:24: 100.20: VLAN stack used twice (first in line 3): keep one"},
	{"VLAN syntax", "ports:\n  - name: a\n    vlans: {010: x}\n", "3:13: 010: not a tag stack: write VIDs from 1 to 4094 joined by dots, as \"100.20\""},
	{"five tags", "ports:\n  - name: a\n    vlans: {1.2.3.4.5: x}\n", "3:13: 1.2.3.4.5: more than four tags: write at most four"},
	{"vlans word", "ports:\n  - {name: a, vlans: all}\n", "2:22: all: neither any nor a mapping: write any, or {10: eth0.10, \"100.20\": eth0.100.20}"},
	{"sub-interface twice", "ports:\n  - name: a\n    vlans: {1: x, 2: x}\n", "3:22: x: device name used twice (first in line 3): choose another name"},
	{"port called default", "ports:\n  - name: default\n", "2:11: default: device name used twice (it is always there): choose another name"},
	{"speed", "ports:\n  - {name: a, source: {speed: fast}}\n", "2:31: fast: not a speed: write max, real, 2x or 10000pps"},
	{"two sources", "ports:\n  - name: a\n    source: {pcap: x, dpdk: y}\n", "3:29: y: source is both a capture and a device: keep pcap or dpdk"},
	{"speed of a device", "ports:\n  - name: a\n    source: {dpdk: y, speed: real}\n", "3:30: real: speed is for captures: remove it"},
	{"cpus", "ports:\n  - {name: a, queues: 2, cpus: [1]}\n", "2:32: [: 1 CPU numbers for 2 queues: list 2 CPU numbers, one per queue"},
	{"source outside", "ports:\n  - {name: a, pcap: in.pcap}\n", "2:15: pcap: not a key of port: write source: {pcap: FILE}"},

	// vrfs
	{"two VRFs", "ports: [{name: a}]\nvrfs:\n  - {name: red, interfaces: [a]}\n  - {name: blue, interfaces: [a]}\n", "4:31: a: interface is already in VRF red: keep it in one VRF"},
	{"no interface", "ports: [{name: eth0}]\nvrfs:\n  - {name: red, interfaces: [eth1]}\n", "3:30: eth1: no such interface: write eth0"},
	{"VRF enslaved", "vrfs:\n  - {name: blue}\n  - {name: red, interfaces: [blue]}\n", "3:30: blue: a VRF cannot be enslaved: name a port or sub-interface"},
	{"VRF twice", "vrfs:\n  - {name: red}\n  - {name: red}\n", "3:12: red: device name used twice (first in line 2): choose another name"},
	{"host bits", "vrfs:\n  - {name: red, local: [10.0.0.1/24]}\n", "2:25: 10.0.0.1/24: prefix with host bits: write 10.0.0.0/24 for the network or 10.0.0.1 for the host"},
	{"prefix length", "vrfs:\n  - {name: red, local: [10.0.0.0/33]}\n", "2:25: 10.0.0.0/33: prefix length \"33\" is not 0 to 32: write 10.0.0.0/32 or shorter"},
	{"mapped prefix", "vrfs:\n  - {name: red, local: [\"::ffff:10.0.0.1\"]}\n", "2:25: ::ffff:10.0.0.1: IPv4 address in IPv6 form: write the IPv4 form, as 10.0.0.1"},
	{"zone", "vrfs:\n  - {name: red, local: [\"fe80::1%eth0\"]}\n", "2:25: fe80::1%eth0: address with a zone: write the address without %...; the device goes into dev"},
	{"via", "vrfs:\n  - {name: red, routes: [{to: 0.0.0.0/0, via: eth7}]}\n", "2:47: eth7: no such interface: there is no interface in this configuration"},
	{"route twice", "ports: [{name: a}]\nvrfs:\n  - name: red\n    routes:\n      - {to: 10.0.0.0/8, via: a}\n      - {to: 10.0.0.0/8, via: a}\n", "6:14: 10.0.0.0/8: second route to this prefix: keep one"},
	{"bucket count", "vrfs:\n  - name: red\n    ehash: {tcp: 1000}\n", "3:18: 1000: not a power of two: write 512 or 1024"},
	{"max below start", "vrfs:\n  - name: red\n    ehash: {tcp: 65536, udp: 1024, max: 32768}\n", "3:41: 32768: start size 65536 of tcp is above max 32768: write 65536 or more"},
	{"start above max", "vrfs:\n  - name: red\n    ehash: {tcp: 33554432}\n", "3:18: 33554432: start size 33554432 of tcp is above max 16777216: write 16777216 or less"},
	{"full", "vrfs:\n  - name: red\n    ehash: {full: evcit}\n", "3:19: evcit: not allowed here: write evict"},
	{"read-only report", "vrfs:\n  - name: red\n    sysctl: {tcp_ehash_entries: 1}\n", "3:14: tcp_ehash_entries: not a key of VRF sysctl: it is a read-only report of the table's size; write ehash: {tcp: BUCKETS}"},
	{"local range backwards", "vrfs:\n  - name: red\n    sysctl: {ip_local_port_range: \"60999 32768\"}\n", "3:35: 60999 32768: range backwards: write \"32768 60999\""},
	{"local range low", "vrfs:\n  - name: red\n    sysctl: {ip_local_port_range: 80 99}\n", "3:35: 80 99: Linux refuses a range that begins below 1024: write \"1024 99\" or higher"},
	{"local range syntax", "vrfs:\n  - name: red\n    sysctl: {ip_local_port_range: 32768-60999}\n", "3:35: 32768-60999: not two ports: write \"LOW HIGH\", as \"32768 60999\""},
	{"reserved", "vrfs:\n  - name: red\n    sysctl: {ip_local_reserved_ports: \"8080, 9000\"}\n", "3:39: 8080, 9000: ports are separated by single commas: write \"8080,9000-9010\""},
	{"reserved number", "vrfs:\n  - name: red\n    sysctl: {ip_local_reserved_ports: 80800}\n", "3:39: 80800: port 80800 is over 65535: write a port from 0 to 65535"},
	{"tw_reuse", "vrfs:\n  - name: red\n    sysctl: {tcp_tw_reuse: 3}\n", "3:28: 3: out of range: write a number from 0 to 2"},

	// workers
	{"ring", "workers:\n  - {name: w, ring: 1000}\n", "2:21: 1000: not a power of two: write 512 or 1024"},
	{"count", "workers:\n  - {name: w, count: 0}\n", "2:22: 0: out of range: write a number from 1 to 4096"},
	{"handler", "workers:\n  - {name: w, handler: cuont}\n", "2:24: cuont: not allowed here: write count"},
	{"handler port", "ports: [{name: eth0}]\nworkers:\n  - {name: w, handler: \"port:eth1\"}\n", "3:24: eth1: no such port: write eth0"},
	{"pool twice", "workers:\n  - {name: w}\n  - {name: w}\n", "3:12: w: pool name used twice (first in line 2): choose another name"},
}

var socketMistakes = []struct{ name, keys, want string }{
	{"port 70000", `proto: tcp, bind: "10.0.0.1:70000", worker: dns/0`, `"10.0.0.1:70000": port 70000 is over 65535: write a port from 0 to 65535`},
	{"port text", `proto: tcp, bind: "10.0.0.1:http", worker: dns/0`, `"10.0.0.1:http": port "http" is not a number: write a port from 0 to 65535`},
	{"no port", `proto: tcp, bind: 10.0.0.1, worker: dns/0`, `10.0.0.1: address without a port: write 10.0.0.1:PORT`},
	{"no brackets", `proto: tcp, bind: "2001:db8::1:53", worker: dns/0`, `"2001:db8::1:53": IPv6 address without brackets: write "[2001:db8::1]:53"`},
	{"no brackets, wildcard", `proto: tcp, bind: ":::53", worker: dns/0`, `":::53": IPv6 address without brackets: write "[::]:53"`},
	{"star", `proto: tcp, bind: "*:53", worker: dns/0`, `"*:53": no address: write "0.0.0.0:53" for IPv4 or "[::]:53" for both families`},
	{"zone", `proto: udp, bind: "[fe80::1%eth0]:53", worker: dns/0`, `"[fe80::1%eth0]:53": address with a zone: write the address without %...; the device goes into dev`},
	{"port 0", `proto: udp, bind: "10.0.0.1:0", worker: dns/0`, `"10.0.0.1:0": port 0: write a port from 1 to 65535; only connect chooses one`},
	{"proto", `proto: sctp, bind: "10.0.0.1:1", worker: dns/0`, `sctp: not allowed here: write tcp or udp`},
	{"boolean", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, reuseport: yes`, `yes: not true or false: write true`},
	{"quoted boolean", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, reuseport: "true"`, `"true": not true or false: write true`},
	{"no pool", `proto: udp, bind: "10.0.0.1:1", workers: dsn`, `dsn: no such worker pool: write dns`},
	{"no worker", `proto: udp, bind: "10.0.0.1:1", worker: dsn/0`, `dsn/0: no such worker: write dns/0`},
	{"index", `proto: udp, bind: "10.0.0.1:1", worker: dns/2`, `dns/2: pool dns has 2 workers: write dns/0 to dns/1`},
	{"pool for worker", `proto: udp, bind: "10.0.0.1:1", worker: dns`, `dns: a pool where one worker belongs: write dns/0, or workers: dns for one socket per worker`},
	{"both owners", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, workers: web`, `web: both worker and workers: keep worker for one socket, workers for one per worker`},
	{"no device", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, dev: rde`, `rde: no such interface or VRF: write red`},
	{"steer without group", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, steer: {mode: cpu}`, `{mode: steer on a socket without a group: add reuseport: true, or workers: POOL`},
	{"two steers", `proto: udp, bind: "10.0.0.1:1", workers: dns, steer: {mode: cpu, asm: "ret a"}`, `"ret a": a group is steered one way: keep one of asm, cbpf and mode`},
	{"empty steer", `proto: udp, bind: "10.0.0.1:1", workers: dns, steer: {}`, `{}: empty steer: write {asm: "ld [0]; mod #4; ret a"}, {cbpf: FILE} or {mode: hash}`},
	{"mixed families", `proto: udp, bind: "10.0.0.1:1", connect: "[2001:db8::1]:1", worker: dns/0`, `"[2001:db8::1]:1": IPv6 address on the IPv4 socket bound to 10.0.0.1: bind and connect in one family`},
	{"v4 peer of v6", `proto: udp, bind: "[::]:1", connect: "10.0.0.9:1", worker: dns/0, laddr: 10.0.0.1`, `"10.0.0.9:1": IPv4 address on an IPv6 socket: write "[::ffff:10.0.0.9]:1", or bind an IPv4 address`},
	{"mapped mixed", `proto: udp, bind: "[::ffff:10.0.0.1]:1", connect: "[2001:db8::1]:1", worker: dns/0`, `"[2001:db8::1]:1": mapped and other IPv6 addresses mixed (bound to ::ffff:10.0.0.1): bind and connect in one family`},
	{"connect to nothing", `proto: udp, bind: "10.0.0.1:1", connect: "10.0.0.9:0", worker: dns/0`, `"10.0.0.9:0": port 0: write the remote port, 1 to 65535`},
	{"no local address", `proto: udp, connect: "10.0.0.9:9", worker: dns/0`, `"10.0.0.9:9": no local address: VRF default has no host address of this family in local: add laddr: ADDR, bind an address, or list one in local`},
	{"laddr alone", `proto: udp, bind: "10.0.0.1:1", laddr: 10.0.0.1, worker: dns/0`, `10.0.0.1,: laddr without connect: remove it, or bind to that address`},
	{"laddr family", `proto: udp, bind: "[::]:1", connect: "[2001:db8::1]:1", laddr: 10.0.0.1, worker: dns/0`, `10.0.0.1,: not of the family of connect: write an address of the family of 2001:db8::1`},
	{"v6only on v4", `proto: udp, bind: "10.0.0.1:1", v6only: true, worker: dns/0`, `true: v6only on an IPv4 socket: remove it or bind an IPv6 address`},
	{"v6only mapped", `proto: udp, bind: "[::ffff:10.0.0.1]:1", v6only: true, worker: dns/0`, `true: v6only with an IPv4-mapped address: remove it or bind another IPv6 address`},
	{"backlog on udp", `proto: udp, bind: "10.0.0.1:1", backlog: 5, worker: dns/0`, `5: backlog on a socket that does not listen: remove it`},
	{"no_check6_rx", `proto: udp, bind: "10.0.0.1:1", no_check6_rx: true, worker: dns/0`, `true: no_check6_rx is for UDP over IPv6: remove it`},
	{"workers without reuseport", `proto: udp, bind: "10.0.0.1:1", workers: dns, reuseport: false`, `false: sockets made by workers are a reuseport group: remove it, or write worker: POOL/INDEX`},
	{"join tcp", `proto: tcp, bind: "10.0.0.1:1", worker: dns/0, join: [{group: 239.0.0.1, dev: eth0}]`, `[{group: join on a TCP socket: remove it: multicast is for UDP`},
	{"join unicast", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, join: [{group: 10.0.0.1, dev: eth0}]`, `10.0.0.1, dev: not a multicast group: write one, as 239.1.2.3 or ff02::1:2`},
	{"join dev", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, join: [{group: 239.0.0.1, dev: eth9}]`, `eth9: no such interface: write eth0`},
	{"join sender", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, join: [{group: 239.0.0.1, dev: eth0, include: ["2001:db8::1"]}]`, `["2001: sender 1 is of another family than the group: write senders of the group's family`},
	{"uid", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, uid: -1`, `-1: out of range: write a number from 0 to 4294967294`},
	{"no owner", `proto: udp, bind: "10.0.0.1:1"`, `name: socket without an owner: add worker: POOL/INDEX or workers: POOL`},
	{"no address", `proto: udp, worker: dns/0`, `name: socket without an address: add bind: "ADDR:PORT", connect: "ADDR:PORT" or both`},
	{"vrf key", `proto: udp, bind: "10.0.0.1:1", worker: dns/0, vrf: red`, `vrf: not a key of socket: write dev: VRF, as SO_BINDTODEVICE`},
}

var ruleMistakes = []struct{ name, keys, want string }{
	{"no socket", `proto: tcp, socket: web444`, `web444: no such socket: write web443`},
	{"proto differs", `proto: udp, socket: web443`, `web443: web443 is a tcp socket: write the name of a udp socket`},
	{"connected", `proto: udp, socket: conn`, `conn: conn is connected: name a listener or an unconnected socket`},
	{"family", `proto: tcp, dst: "2001:db8::/64", socket: web443`, `web443: web443 is an IPv4 socket and cannot take IPv6 packets: name an IPv6 socket`},
	{"v6only", `proto: udp, dst: 10.0.0.0/8, socket: six`, `six: six is an IPv6 socket with v6only and cannot take IPv4 packets: name an IPv4 socket, or one without v6only`},
	{"member", `proto: tcp, socket: web443/4`, `web443/4: web443 has 4 members: write web443/0 to web443/3`},
	{"single", `proto: udp, socket: six/0`, `six/0: six is a single socket: write six`},
	{"VRF", `proto: tcp, vrf: rad, socket: web443`, `rad: no such VRF: write red`},
	{"ports", `proto: tcp, ports: 90-80, socket: web443`, `90-80: range backwards: write 80-90`},
	{"ports over", `proto: tcp, ports: 0-65536, socket: web443`, `0-65536: port 65536 is over 65535: write a port from 0 to 65535`},
	{"host bits", `proto: tcp, dst: 192.0.2.1/24, socket: web443`, `192.0.2.1/24: prefix with host bits: write 192.0.2.0/24 for the network or 192.0.2.1 for the host`},
}

// errorOf returns the error line that text gives, without its constant head.
func errorOf(t *testing.T, text string) string {
	t.Helper()
	_, err := Parse("f.yaml", []byte(text))
	var e *Error
	require.True(t, errors.As(err, &e), "no error for:\n%s", text)
	line := err.Error()
	require.NotContains(t, line, "\n")
	return strings.TrimPrefix(line, "config: f.yaml:")
}

func TestMistakes(t *testing.T) {
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			require.Equal(t, m.want, errorOf(t, m.text))
		})
	}
}

// TestSocketMistakes: the column is where the text of the message stands.
func TestSocketMistakes(t *testing.T) {
	for _, m := range socketMistakes {
		t.Run("socket "+m.name, func(t *testing.T) {
			text := "ports: [{name: eth0}]\nvrfs: [{name: red}]\n" + pools + "sockets:\n  - {name: s, " + m.keys + "}\n"
			checkLine(t, text, 7, m.want)
		})
	}
	for _, m := range ruleMistakes {
		t.Run("rule "+m.name, func(t *testing.T) {
			text := "vrfs: [{name: red}]\n" + pools + "sockets:\n" +
				"  - {name: web443, proto: tcp, bind: \"0.0.0.0:443\", workers: web}\n" +
				"  - {name: conn, proto: udp, bind: \"10.0.0.1:1\", connect: \"10.0.0.2:1\", worker: dns/0}\n" +
				"  - {name: six, proto: udp, bind: \"[::]:1\", v6only: true, worker: dns/0}\n" +
				"rules:\n  - {" + m.keys + "}\n"
			checkLine(t, text, 10, m.want)
		})
	}
}

// checkLine requires the error in the given line, at the place where the first
// word of want stands; the word of the message is that without its quotes.
func checkLine(t *testing.T, text string, line int, want string) {
	t.Helper()
	got := errorOf(t, text)
	at, rest := splitWant(want)
	src := strings.Split(text, "\n")[line-1]
	col := strings.LastIndex(src, at) + 1
	switch {
	case strings.HasPrefix(rest, "not a key"):
		col = strings.Index(src, at) + 1
	case at == "name": // of the object
		col = strings.Index(src, "{") + 1
	}
	require.True(t, strings.HasPrefix(got, fmt.Sprintf("%d:%d: ", line, col)), "%q\nwant column %d", got, col)
	require.True(t, strings.HasSuffix(got, ": "+rest), "%q\nwant %q", got, rest)
}

// splitWant splits TEXT: REST at the first ": " outside quotes and brackets.
func splitWant(want string) (at, rest string) {
	if strings.HasPrefix(want, `"`) {
		i := strings.Index(want[1:], `"`) + 2
		return want[:i], want[i+2:]
	}
	at, rest, _ = strings.Cut(want, ": ")
	return at, rest
}
