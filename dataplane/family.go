package dataplane

import "edemux/dataplane/mib"

// familyMIB are the counters that exist once per IP version.
type familyMIB struct {
	inReceives, inOctets, inDelivers               mib.Counter
	inMcastPkts, inBcastPkts                       mib.Counter
	inMcastOctets, inBcastOctets                   mib.Counter
	inUnknownProtos, icmpInCsumErrors              mib.Counter
	ect                                            [4]mib.Counter // by the ECN bits
	reasmReqds, reasmOKs, reasmFails, reasmTimeout mib.Counter
	udpInDatagrams, udpIgnoredMulti                mib.Counter
	udpRcvbufErrors, udpInErrors                   mib.Counter
	icmpInErrors                                   mib.Counter
}

// families is indexed by bit 1 of the IP version: 0 for 4, 1 for 6.
var families = [2]familyMIB{{
	inReceives: mib.IpInReceives, inOctets: mib.IpExtInOctets, inDelivers: mib.IpInDelivers,
	inMcastPkts: mib.IpExtInMcastPkts, inBcastPkts: mib.IpExtInBcastPkts,
	inMcastOctets: mib.IpExtInMcastOctets, inBcastOctets: mib.IpExtInBcastOctets,
	ect:        [4]mib.Counter{mib.IpExtInNoECTPkts, mib.IpExtInECT1Pkts, mib.IpExtInECT0Pkts, mib.IpExtInCEPkts},
	reasmReqds: mib.IpReasmReqds, reasmOKs: mib.IpReasmOKs, reasmFails: mib.IpReasmFails, reasmTimeout: mib.IpReasmTimeout,
	udpInDatagrams: mib.UdpInDatagrams, udpIgnoredMulti: mib.UdpIgnoredMulti,
	udpRcvbufErrors: mib.UdpRcvbufErrors, udpInErrors: mib.UdpInErrors,
	icmpInErrors: mib.IcmpInErrors, icmpInCsumErrors: mib.IcmpInCsumErrors,
	inUnknownProtos: mib.IpInUnknownProtos,
}, {
	inReceives: mib.Ip6InReceives, inOctets: mib.Ip6InOctets, inDelivers: mib.Ip6InDelivers,
	inMcastPkts: mib.Ip6InMcastPkts, inBcastPkts: mib.Ip6InMcastPkts,
	inMcastOctets: mib.Ip6InMcastOctets, inBcastOctets: mib.Ip6InMcastOctets,
	ect:        [4]mib.Counter{mib.Ip6InNoECTPkts, mib.Ip6InECT1Pkts, mib.Ip6InECT0Pkts, mib.Ip6InCEPkts},
	reasmReqds: mib.Ip6ReasmReqds, reasmOKs: mib.Ip6ReasmOKs, reasmFails: mib.Ip6ReasmFails, reasmTimeout: mib.Ip6ReasmTimeout,
	udpInDatagrams: mib.Udp6InDatagrams, udpIgnoredMulti: mib.Udp6IgnoredMulti,
	udpRcvbufErrors: mib.Udp6RcvbufErrors, udpInErrors: mib.Udp6InErrors,
	icmpInErrors: mib.Icmp6InErrors, icmpInCsumErrors: mib.Icmp6InCsumErrors,
	inUnknownProtos: mib.Ip6InUnknownProtos,
}}
