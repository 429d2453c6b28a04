#!/usr/bin/env bash
# Records the captures of testdata/pcap from real programs.
#
#   testdata/record/record.sh [OUTPUT FOLDER]      default: testdata/pcap
#
# Needs root (it makes network namespaces and veth pairs of its own and takes
# them down again), Go, tcpdump, curl, dig, iperf3, ping, traceroute, ethtool.
# Nothing leaves the namespaces. Each step is bounded by a timeout, and what
# would be long is cut by a packet count, a snap length or both.
#
#   client 192.0.2.1, 2001:db8:1::1 ---- 192.0.2.254 router 198.51.100.254 ---- 198.51.100.2, 2001:db8:2::2 server
#
# Times, most ports and sequence numbers differ from one recording to the next,
# so the golden files beside the captures are made again after a recording. Ports
# that a configuration beside a capture names are given to the program here.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath "${1:-testdata/pcap}")
mkdir -p "$out"

id=edx$$
client=$id-c router=$id-r server=$id-s
scratch=$(mktemp -d)
pids=()

cleanup() {
	local pid ns
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	for ns in "$client" "$router" "$server"; do ip netns del "$ns" 2>/dev/null || true; done
	rm -rf "$scratch"
}
trap cleanup EXIT

in_ns() { ip netns exec "$@"; }

# link NS_A IF_A MAC_A NS_B IF_B MAC_B joins two namespaces.
link() {
	ip -n "$1" link add "$2" address "$3" type veth peer name "$5" netns "$4" address "$6"
	ip -n "$1" link set "$2" up
	ip -n "$4" link set "$5" up
}

# offloads on|off: off, frames look as on a wire; on, as a host sees its own.
offloads() {
	local ns if
	for ns in "$client:c0" "$router:r0" "$router:r1" "$server:s0"; do
		if=${ns#*:}
		in_ns "${ns%:*}" ethtool -K "$if" tx "$1" rx "$1" tso "$1" gso "$1" gro "$1" >/dev/null
	done
}

build_net() {
	local ns
	for ns in "$client" "$router" "$server"; do
		ip netns add "$ns"
		ip -n "$ns" link set lo up
		in_ns "$ns" sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
	done
	link "$client" c0 02:00:00:00:00:01 "$router" r0 02:00:00:00:00:fe
	link "$server" s0 02:00:00:00:00:02 "$router" r1 02:00:00:00:00:fd
	in_ns "$router" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	in_ns "$router" sysctl -qw net.ipv4.icmp_ratelimit=0
	ip -n "$client" addr add 192.0.2.1/24 dev c0
	ip -n "$client" addr add 2001:db8:1::1/64 dev c0 nodad
	ip -n "$router" addr add 192.0.2.254/24 dev r0
	ip -n "$router" addr add 2001:db8:1::fe/64 dev r0 nodad
	ip -n "$router" addr add 198.51.100.254/24 dev r1
	ip -n "$router" addr add 2001:db8:2::fe/64 dev r1 nodad
	ip -n "$server" addr add 198.51.100.2/24 dev s0
	ip -n "$server" addr add 2001:db8:2::2/64 dev s0 nodad
	ip -n "$client" route add default via 192.0.2.254
	ip -n "$server" route add default via 198.51.100.254
	ip -n "$client" -6 route add default via 2001:db8:1::fe
	ip -n "$server" -6 route add default via 2001:db8:2::fe
}

# start NS COMMAND... runs a server until the end.
start() {
	local ns=$1
	shift
	ip netns exec "$ns" "$@" >>"$scratch/servers.log" 2>&1 &
	pids+=($!)
}

wait_for() {
	local n
	for n in $(seq 50); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	echo "record.sh: timed out: $*" >&2
	exit 1
}

# capture NAME NS TCPDUMP-ARGS... starts tcpdump and returns once it listens.
capture() {
	local name=$1 ns=$2
	shift 2
	ip netns exec "$ns" timeout 30 tcpdump -Z root -n -U --immediate-mode -w "$scratch/$name" "$@" 2>"$scratch/tcpdump.log" &
	tcpdump_pid=$!
	wait_for grep -q 'listening on' "$scratch/tcpdump.log"
}

# stored NAME ends the capture and puts the file into its place.
stored() {
	sleep 0.4
	kill -INT "$tcpdump_pid" 2>/dev/null || true
	wait "$tcpdump_pid" 2>/dev/null || true
	install -m 644 "$scratch/$1" "$out/$1"
	printf '%-20s %6d bytes\n' "$1" "$(stat -c %s "$out/$1")"
}

quietly() { timeout 10 "$@" >/dev/null 2>&1 || true; }
fetch() { quietly ip netns exec "$client" curl -s -m 5 "$@"; }
ask() { quietly ip netns exec "$client" dig +tries=1 +time=2 "$@"; }

record_http() { # two requests on one connection, then a port without a listener
	capture http.pcap "$server" -i s0 tcp
	fetch http://198.51.100.2/ http://198.51.100.2/page
	fetch http://198.51.100.2:81/
	stored http.pcap
}

record_dns() {
	capture dns.pcap "$server" -i s0 port 53
	local name
	for name in a b c d e f; do ask @198.51.100.2 "$name.example" A; done
	ask @198.51.100.2 www.example AAAA
	ask @198.51.100.2 +tcp www.example TXT
	stored dns.pcap
}

record_fragments() { # 2.4 kB answers over a link with an MTU of 1500
	capture fragments.pcap "$client" -i c0 'ip or ip6'
	ask -b 192.0.2.1#5353 @198.51.100.2 +bufsize=4096 large.example TXT
	ask -b 2001:db8:1::1#5353 @2001:db8:2::2 +bufsize=4096 large.example TXT
	quietly ip netns exec "$client" ping -c 2 -i 0.2 -s 3000 198.51.100.2
	stored fragments.pcap
}

record_ipv6() {
	capture ipv6.pcap "$server" -i s0 ip6
	fetch 'http://[2001:db8:2::2]/page'
	ask @2001:db8:2::2 www.example AAAA
	quietly ip netns exec "$client" ping -6 -c 2 -i 0.2 2001:db8:2::2
	stored ipv6.pcap
}

record_iperf3() { # offloads on: super-frames, cut to their headers
	offloads on
	capture iperf3-tcp.pcap "$server" -i s0 -s 80 -c 300 tcp
	quietly ip netns exec "$client" iperf3 -c 198.51.100.2 -n 2M -P 2
	stored iperf3-tcp.pcap
	offloads off
	capture iperf3-udp.pcap "$server" -i s0 -s 96
	quietly ip netns exec "$client" iperf3 -c 198.51.100.2 -u --cport 40000 -b 800k -l 400 -n 80K -P 2
	stored iperf3-udp.pcap
}

record_ping() {
	ip -n "$client" neigh flush all
	capture ping.pcap "$client" -i c0
	quietly ip netns exec "$client" ping -c 3 -i 0.2 198.51.100.2
	quietly ip netns exec "$client" ping -6 -c 3 -i 0.2 2001:db8:2::2
	stored ping.pcap
}

record_traceroute() {
	capture traceroute.pcap "$client" -i c0 'udp or icmp or icmp6'
	quietly ip netns exec "$client" traceroute -n --sport=5000 -q 2 -m 4 198.51.100.2
	quietly ip netns exec "$client" traceroute -6 -n --sport=5000 -q 2 -m 4 2001:db8:2::2
	ask @198.51.100.254 www.example A
	stored traceroute.pcap
}

record_any() { # a host that is client, server and talks to itself
	capture any.pcap "$client" -i any -y LINUX_SLL2 -s 200
	fetch http://198.51.100.2/page
	ask @198.51.100.2 www.example A
	quietly ip netns exec "$server" curl -s -m 5 http://192.0.2.1/
	quietly ip netns exec "$client" curl -s -m 5 http://127.0.0.1/
	stored any.pcap
	capture any-sll.pcap "$client" -i any -y LINUX_SLL -s 200
	fetch http://198.51.100.2/
	quietly ip netns exec "$server" dig +tries=1 +time=2 @192.0.2.1 www.example A
	stored any-sll.pcap
}

record_vlan() { # this needs no 8021q: the tags are in the bytes that are sent
	capture vlan.pcap "$server" -i s0 -Q in 'not ip6 and not arp'
	in_ns "$router" "$scratch/peer" tagged r1
	stored vlan.pcap
}

# The other format, made from two of the above: an Ethernet and a cooked interface.
record_pcapng() {
	"$scratch/peer" pcapng "$out/interfaces.pcapng" eth0="$out/dns.pcap" any="$out/any-sll.pcap"
	printf '%-20s %6d bytes\n' interfaces.pcapng "$(stat -c %s "$out/interfaces.pcapng")"
}

CGO_ENABLED=0 go build -o "$scratch/peer" ./testdata/record/peer
build_net
offloads off
start "$server" "$scratch/peer" serve 198.51.100.2
start "$server" "$scratch/peer" serve 2001:db8:2::2
start "$client" "$scratch/peer" serve 192.0.2.1
start "$client" "$scratch/peer" serve 127.0.0.1
start "$server" iperf3 -s
wait_for ip netns exec "$client" curl -s -m 1 http://198.51.100.2/
wait_for ip netns exec "$client" curl -s -m 1 'http://[2001:db8:2::2]/'

record_http
record_dns
record_fragments
record_ipv6
record_iperf3
record_ping
record_traceroute
record_any
record_vlan
record_pcapng
