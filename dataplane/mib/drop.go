package mib

// IP protocols whose counters differ.
const (
	protoTCP = 6
	protoUDP = 17
)

// class is what decides the counters of a reason beside the IP version.
type class uint8

const (
	classIP class = iota
	classTCP
	classUDP
	nClasses
)

// classes maps an IP protocol number.
var classes = [256]class{protoTCP: classTCP, protoUDP: classUDP}

// dropCounters is ReasonCounters as an array: reason, IP version (0: IPv4,
// 1: IPv6), protocol class.
var dropCounters = func() (t [NReasons][2][nClasses][]Counter) {
	any := func(r Reason, v4, v6 []Counter) {
		for c := range nClasses {
			t[r][0][c], t[r][1][c] = v4, v6
		}
	}
	of := func(r Reason, c class, v4, v6 []Counter) { t[r][0][c], t[r][1][c] = v4, v6 }
	list := func(c ...Counter) []Counter { return c }

	any(PktTooSmall, list(IpExtInTruncatedPkts), list(Ip6InTruncatedPkts))
	of(PktTooSmall, classTCP, list(TcpInErrs), list(TcpInErrs))
	of(PktTooSmall, classUDP, list(UdpInErrors), list(Udp6InErrors))
	any(IPInHdr, list(IpInHdrErrors), list(Ip6InHdrErrors))
	any(IPCsum, list(IpExtInCsumErrors, IpInHdrErrors), nil)
	any(IPInNoRoutes, list(IpExtInNoRoutes), list(Ip6InNoRoutes))
	any(IPv6BadExthdr, nil, list(Ip6InHdrErrors))
	any(UnhandledProto, nil, list(Ip6InHdrErrors))
	any(UnicastInL2Multicast, nil, list(Ip6InHdrErrors))
	any(IPNoProto, list(IpInUnknownProtos), list(Ip6InUnknownProtos))
	of(NoSocket, classUDP, list(UdpNoPorts), list(Udp6NoPorts))
	of(UDPCsum, classUDP, list(UdpInCsumErrors, UdpInErrors), list(Udp6InCsumErrors, Udp6InErrors))
	of(TCPCsum, classTCP, list(TcpInCsumErrors, TcpInErrs), list(TcpInCsumErrors, TcpInErrs))
	of(SocketRcvBuff, classUDP, list(UdpRcvbufErrors, UdpInErrors), list(Udp6RcvbufErrors, Udp6InErrors))
	any(ReqQFull, list(TcpExtTCPReqQFullDrop, TcpExtListenDrops), list(TcpExtTCPReqQFullDrop, TcpExtListenDrops))
	return t
}()

// ReasonCounters returns the counters that a drop for reason r moves. ver is
// the IP version (anything but 6 is taken as 4), proto the protocol whose
// handler drops: 0 for a drop in the IP layer, where a short packet is
// InTruncatedPkts, not an error of TCP or UDP. Reassembly reports its own
// counts, so its reasons move none here. The slice is shared: read only.
func ReasonCounters(r Reason, ver, proto uint8) []Counter {
	return dropCounters[r][ver>>1&1][classes[proto]]
}
