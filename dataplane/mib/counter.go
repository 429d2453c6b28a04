package mib

// Counter is one of the kernel's MIB counters, named as nstat prints it: the
// group of /proc/net/snmp, netstat or snmp6, then the name. Only those are here
// whose event can happen in a replay. Drops and counters are different things:
// each dropped frame has one Reason, but may move several counters or none.
type Counter uint8

const (
	IpInReceives Counter = iota
	IpInHdrErrors
	IpInAddrErrors
	IpInUnknownProtos
	IpInDelivers
	IpReasmTimeout
	IpReasmReqds
	IpReasmOKs
	IpReasmFails

	IpExtInNoRoutes
	IpExtInTruncatedPkts
	IpExtInMcastPkts
	IpExtInBcastPkts
	IpExtInOctets
	IpExtInMcastOctets
	IpExtInBcastOctets
	IpExtInCsumErrors
	IpExtInNoECTPkts
	IpExtInECT1Pkts
	IpExtInECT0Pkts
	IpExtInCEPkts
	IpExtReasmOverlaps

	Ip6InReceives
	Ip6InHdrErrors
	Ip6InNoRoutes
	Ip6InAddrErrors
	Ip6InUnknownProtos
	Ip6InTruncatedPkts
	Ip6InDelivers
	Ip6ReasmTimeout
	Ip6ReasmReqds
	Ip6ReasmOKs
	Ip6ReasmFails
	Ip6InMcastPkts
	Ip6InOctets
	Ip6InMcastOctets
	Ip6InNoECTPkts
	Ip6InECT1Pkts
	Ip6InECT0Pkts
	Ip6InCEPkts

	IcmpInErrors
	IcmpInCsumErrors
	Icmp6InErrors
	Icmp6InCsumErrors

	TcpInSegs
	TcpInErrs
	TcpInCsumErrors

	TcpExtTW
	TcpExtTWRecycled
	TcpExtListenOverflows
	TcpExtListenDrops
	TcpExtTCPTimeWaitOverflow
	TcpExtTCPReqQFullDrop
	TcpExtTCPMigrateReqSuccess
	TcpExtTCPMigrateReqFailure
	TcpExtOutOfWindowIcmps

	UdpInDatagrams
	UdpNoPorts
	UdpInErrors
	UdpRcvbufErrors
	UdpInCsumErrors
	UdpIgnoredMulti

	Udp6InDatagrams
	Udp6NoPorts
	Udp6InErrors
	Udp6RcvbufErrors
	Udp6InCsumErrors
	Udp6IgnoredMulti
	NCounters
)

var counterNames = [...]string{
	"IpInReceives", "IpInHdrErrors", "IpInAddrErrors", "IpInUnknownProtos",
	"IpInDelivers", "IpReasmTimeout", "IpReasmReqds", "IpReasmOKs",
	"IpReasmFails",
	"IpExtInNoRoutes", "IpExtInTruncatedPkts", "IpExtInMcastPkts", "IpExtInBcastPkts",
	"IpExtInOctets", "IpExtInMcastOctets", "IpExtInBcastOctets", "IpExtInCsumErrors",
	"IpExtInNoECTPkts", "IpExtInECT1Pkts", "IpExtInECT0Pkts", "IpExtInCEPkts",
	"IpExtReasmOverlaps",
	"Ip6InReceives", "Ip6InHdrErrors", "Ip6InNoRoutes", "Ip6InAddrErrors",
	"Ip6InUnknownProtos", "Ip6InTruncatedPkts", "Ip6InDelivers", "Ip6ReasmTimeout",
	"Ip6ReasmReqds", "Ip6ReasmOKs", "Ip6ReasmFails", "Ip6InMcastPkts",
	"Ip6InOctets", "Ip6InMcastOctets", "Ip6InNoECTPkts", "Ip6InECT1Pkts",
	"Ip6InECT0Pkts", "Ip6InCEPkts",
	"IcmpInErrors", "IcmpInCsumErrors", "Icmp6InErrors", "Icmp6InCsumErrors",
	"TcpInSegs", "TcpInErrs", "TcpInCsumErrors",
	"TcpExtTW", "TcpExtTWRecycled", "TcpExtListenOverflows", "TcpExtListenDrops",
	"TcpExtTCPTimeWaitOverflow", "TcpExtTCPReqQFullDrop", "TcpExtTCPMigrateReqSuccess", "TcpExtTCPMigrateReqFailure",
	"TcpExtOutOfWindowIcmps",
	"UdpInDatagrams", "UdpNoPorts", "UdpInErrors", "UdpRcvbufErrors",
	"UdpInCsumErrors", "UdpIgnoredMulti",
	"Udp6InDatagrams", "Udp6NoPorts", "Udp6InErrors", "Udp6RcvbufErrors",
	"Udp6InCsumErrors", "Udp6IgnoredMulti",
}

var _ [NCounters]struct{} = [len(counterNames)]struct{}{} // every counter has a name

// String is the name used as JSON key and by nstat.
func (c Counter) String() string { return counterNames[c] }
