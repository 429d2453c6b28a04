package mib

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
	NoVRF     // ours
	TableFull // ours
	ReqQFull  // ours
	UnicastInL2Multicast
	IPNoProto
	NoMem
	UnhandledProto
	NotSpecified  // the kernel drops it without a reason
	FragReasmFail // ours
	IPLocalnet
	NReasons
)

// reasons has a row per Reason, in order: its name in TSV, JSON and metrics,
// and one sentence for people.
var reasons = [...]struct {
	id   Reason
	name string
	hint string
}{
	{NotDropped, "", ""},
	{PktTooSmall, "PKT_TOO_SMALL", "The packet is shorter than its own length fields say, or the capture cut a header off."},
	{IPInHdr, "IP_INHDR", "The IP header is not valid: version, header length, total length, addresses or options."},
	{IPCsum, "IP_CSUM", "The IPv4 header checksum is wrong, so the header was damaged on the way."},
	{OtherHost, "OTHERHOST", "The frame was addressed to another host's MAC and seen only because the port was promiscuous."},
	{IPInNoRoutes, "IP_INNOROUTES", "The destination is not local and no route leads to it."},
	{IPInvalidSource, "IP_INVALID_SOURCE", "The source address cannot be one, such as a multicast, broadcast or loopback address."},
	{IPInvalidDest, "IP_INVALID_DEST", "The destination address may not arrive here, such as a loopback address from a wire."},
	{IPLocalSource, "IP_LOCAL_SOURCE", "The source address is one of this host's own."},
	{IPv6BadExthdr, "IPV6_BAD_EXTHDR", "An IPv6 extension header is cut, malformed, or of a kind that hosts refuse."},
	{DupFrag, "DUP_FRAG", "This part of the datagram had already come."},
	{FragReasmTimeout, "FRAG_REASM_TIMEOUT", "The other fragments of the datagram did not come in time."},
	{FragTooFar, "FRAG_TOO_FAR", "Too many other fragments came from this source before the datagram was whole."},
	{NoSocket, "NO_SOCKET", "No socket is bound to this address and port."},
	{UDPCsum, "UDP_CSUM", "The UDP checksum is wrong, or missing over IPv6; captures taken on the sender need checksums l4: trust."},
	{TCPCsum, "TCP_CSUM", "The TCP checksum is wrong; captures taken on the sender need checksums l4: trust."},
	{TCPFlags, "TCP_FLAGS", "A listener got a segment that starts no connection; tcp_midstream 1 accepts flows whose start was not seen."},
	{SocketRcvBuff, "SOCKET_RCVBUFF", "The worker's ring was full: the worker is too slow or has too much to do."},
	{NoVRF, "NO_VRF", "No interface is configured for this port and VLAN stack."},
	{TableFull, "TABLE_FULL", "The flow table of the VRF holds as many flows as it may."},
	{ReqQFull, "REQQ_FULL", "The listener's backlog of half-open connections is full."},
	{UnicastInL2Multicast, "UNICAST_IN_L2_MULTICAST", "A unicast packet came in a broadcast or multicast frame."},
	{IPNoProto, "IP_NOPROTO", "Nothing here handles this protocol."},
	{NoMem, "NOMEM", "The fragments in waiting use all the memory they may."},
	{UnhandledProto, "UNHANDLED_PROTO", "The EtherType says IPv6, the version field something else."},
	{NotSpecified, "NOT_SPECIFIED", "Linux drops this without naming a reason."},
	{FragReasmFail, "FRAG_REASM_FAIL", "The fragments do not fit together: they overlap, contradict each other, or are too long; the whole datagram was discarded."},
	{IPLocalnet, "IP_LOCALNET", "A 127.0.0.0/8 address came in on an interface other than the loopback."},
}

var _ [NReasons]struct{} = [len(reasons)]struct{}{} // every reason has a row

// String is the name used in TSV, JSON and metrics.
func (r Reason) String() string { return reasons[r].name }

// Hint says in one sentence what the reason means.
func (r Reason) Hint() string { return reasons[r].hint }
