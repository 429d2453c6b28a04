// Package mib names everything the dataplane counts: verdicts, drop reasons,
// the words that explain a punt, and the kernel's MIB counters.
//
// Job: one list per kind, from which text, JSON, Prometheus and the MIB mapping
// are derived. Threads: constants only; safe everywhere. Kernel counterpart:
// include/net/dropreason-core.h, include/uapi/linux/snmp.h.
package mib

// Verdict is the one fate of a frame.
type Verdict uint8

const (
	Deliver Verdict = iota // to a socket's worker
	Drop                   // with a Reason
	Hold                   // fragment kept until its datagram completes
	Forward                // a route leads elsewhere
	Egress                 // sent by this host
	Punt                   // not ours to decide, with a PuntWord
	NVerdicts
)

var verdictNames = [NVerdicts]string{"deliver", "drop", "hold", "forward", "egress", "punt"}

// String is the word used in TSV and JSON.
func (v Verdict) String() string { return verdictNames[v] }

// PuntWord says why a frame is not ours.
type PuntWord uint8

const (
	NotPunted PuntWord = iota
	LinkType           // the capture's link type is not one we read
	NonIP              // EtherType other than IPv4 and IPv6
	ARP
	MPLS
	PPPoE
	ICMP // other than an error for one of our sockets
	ICMPv6
	Proto // IP protocol without sockets here
	UDPLite
	SCTP
	DCCP
	LLC // 802.3 length field instead of an EtherType
	NPunts
)

var puntNames = [...]string{"", "LINKTYPE", "NON_IP", "ARP", "MPLS", "PPPOE", "ICMP", "ICMPV6", "PROTO", "UDPLITE", "SCTP", "DCCP", "LLC"}

var _ [NPunts]struct{} = [len(puntNames)]struct{}{} // every word has a name

// String is the word used in the reason column.
func (p PuntWord) String() string { return puntNames[p] }
