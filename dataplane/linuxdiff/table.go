// Package linuxdiff is the one list of what edemux does differently from
// Linux. docs/differences.md is made from it, and a test holds the two equal.
//
// Job: a table and its rendering. Threads: constants only. Kernel counterpart:
// everything named in the table.
package linuxdiff

import (
	"fmt"
	"strings"
)

// Difference is one row.
type Difference struct {
	Area   string
	Linux  string
	Edemux string
	Why    string
}

// Table is every known difference, by area.
var Table = []Difference{
	{"devices", "rp_filter and accept_local per device (0, 1 or 2; 0)", "rp_filter 0, accept_local 1", "a capture does not hold the routes back to its sources"},
	{"devices", "sysctls, established tables and reassembly belong to a network namespace", "each VRF has its own", "a VRF here plays the part of a namespace"},
	{"early demux", "a missed probe is repeated by the full lookup", "the miss is remembered: no flow table is searched twice for a packet", "same result, less work"},
	{"early demux", "UDP hits only the head of its (address, port) chain", "so with `early_demux_match: linux`; `exact` finds any connected flow", "exact is what the flow table gives for free"},
	{"early demux", "packets that a GRO list hands over may take a route hint and skip early demux", "every packet is judged alone", "hints depend on how a NIC batches, which no capture shows"},
	{"early demux", "a hash slot of (address, port) may hold foreign sockets, which hide the head", "chains hold only their own address and port", "the slot hangs on a secret of the kernel"},
	{"hash", "jhash with random secrets; UDP hashes the local port in", "one keyed multilinear hash, additive in the local port, for TCP and UDP, both families", "an incremental source-port search; members differ from a kernel's, as two kernels differ"},
	{"hash", "the flow hash is computed before a group's program runs", "computed when something needs it", "it is wasted when the program chooses"},
	{"fragments", "reassembled per network namespace and VRF", "the same, with the capture's clock", "replays repeat"},
	{"tcp", "a listener answers; the third ACK proves the peer", "nothing is sent: ACK numbers are not checked, an ACK makes a request ESTABLISHED", "one side of the conversation is seen"},
	{"tcp", "accept queue and its overflow", "none: a connection is accepted at once", "no application is there to be late"},
	{"tcp", "syncookies under load", "off", "no SYN-ACK carries a cookie"},
	{"tcp", "TIME_WAIT takes a SYN with a newer timestamp or sequence", "with a newer sequence only", "timestamps are not kept"},
	{"tcp", "a FIN moves through CLOSE_WAIT, LAST_ACK or FIN_WAIT; who closed first keeps TIME_WAIT", "a FIN from the peer starts TIME_WAIT, 60 s after the last packet", "our own FIN is not seen"},
	{"tcp", "rcv_nxt stops at a gap", "the next expected sequence follows the highest segment within 1 GiB", "segments that the capture lost must not freeze the flow"},
	{"tcp", "segments of unknown connections are answered with RST", "`tcp_midstream: 0` drops them as TCP_FLAGS when a listener exists; 1 lets them create the flow", "captures begin in the middle"},
	{"tcp", "segments outside the window are dropped", "delivered: the window is not known", "our side of the conversation is not seen"},
	{"icmp", "the sequence in an ICMP error must lie in the send window", "not checked", "our own segments are not seen"},
	{"icmp", "every other ICMP message is answered or counted", "punt", "edemux has no ICMP of its own"},
	{"udp", "UdpInDatagrams counts when the application receives", "counts on delivery to the worker", "no application receives"},
	{"udp", "UDP-Lite (before 7.1), SCTP and DCCP have sockets", "fields are shown, the verdict is punt", "not what this is for"},
	{"udp", "encapsulation sockets take packets first", "none", "tunnels are shown by their outer header"},
	{"devices", "multicast needs a membership on the device", "a VRF without `local` takes every group, and loopback addresses on any device", "a capture without configuration still shows who would listen"},
	{"early demux", "sk_incoming_cpu of connected sockets follows the CPU that receives", "stays as configured", "the score changes only for sockets that are found by their four-tuple anyway"},
	{"fragments", "IPv6 fragments of global addresses are keyed without the VRF", "with the VRF, as IPv4", "VRFs are namespaces here"},
	{"bind", "accepted connections keep their port: EADDRINUSE after the listener closed", "flows are no sockets and keep no port", "the application's sockets are not seen"},
	{"bind", "a TCP socket may bind and listen on a multicast address", "refused", "nothing can ever arrive there"},
	{"bind", "sockets of a `flows:` file would conflict with others", "they count as SO_REUSEADDR and are not checked one by one", "millions of them describe what is, not what could be bound"},
	{"multicast", "source filters include or exclude", "include lists only", "captures and configurations name receivers, not exceptions"},
	{"icmp", "an error about a request drops the request", "it is delivered to the listener", "the request's own sequence is not known"},
	{"programs", "ancillary loads of the skb: mark, netlink attributes, payload offset", "refused with a reason", "there is no skb"},
	{"programs", "a load beyond the packet returns 0", "so does a load of bytes that the snap length cut", "the bytes are not there"},
	{"drops", "multicast without member or receiver: NOT_SPECIFIED", "IP_INNOROUTES without member, NO_SOCKET without receiver", "a reason says more than none"},
	{"drops", "an IPv6 datagram without socket and with a wrong checksum: NO_SOCKET", "UDP_CSUM", "as for IPv4"},
	{"table", "the ehash is fixed at boot; chains lengthen", "it grows step by step to `max`; `max` = start size is Linux's table", "a lookup stays one line"},
	{"table", "a socket takes as much memory as it needs", "`flows` bounds each VRF; full: drop, evict or pass", "untrusted packets meet bounded memory"},
	{"drops", "UDP without socket, TCP to nobody: NO_SOCKET", "the same; NO_VRF, TABLE_FULL and REQQ_FULL are ours", "the kernel has no name for them"},
}

// Markdown renders the table as docs/differences.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Differences from Linux\n\nMade from the table in `dataplane/linuxdiff`; `go test ./dataplane/linuxdiff -update` writes it.\n\n" +
		"| area | Linux | edemux | why |\n| --- | --- | --- | --- |\n")
	for _, d := range Table {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Area, d.Linux, d.Edemux, d.Why)
	}
	return b.String()
}
