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

// Reason says why a frame was dropped, spelt as the kernel's SKB_DROP_REASON_
// where it has one. Each dropped frame has exactly one.
type Reason uint8

const (
	NotDropped Reason = iota
	PktTooSmall
	IPInHdr
	IPCsum
	OtherHost
	IPInNoRoutes
	IPInvalidSource
	IPInvalidDest
	IPLocalSource
	IPv6BadExthdr
	DupFrag
	FragReasmTimeout
	FragTooFar
	NoSocket
	UDPCsum
	TCPCsum
	TCPFlags
	SocketRcvBuff
	NoVRF
	TableFull
	ReqQFull
	UnicastInL2Multicast
	IPNoProto
	NoMem
	UnhandledProto // an IPv6 EtherType before another version
	FragReasmFail  // ours: fragments that do not make a datagram; the kernel gives no reason
	NReasons
)

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

var puntNames = [NPunts]string{"", "LINKTYPE", "NON_IP", "ARP", "MPLS", "PPPOE", "ICMP", "ICMPV6", "PROTO", "UDPLITE", "SCTP", "DCCP", "LLC"}

// String is the word used in the reason column.
func (p PuntWord) String() string { return puntNames[p] }
