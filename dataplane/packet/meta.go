package packet

import (
	"edemux/dataplane/mib"
	"edemux/flowtable"
)

// Link types as in the pcap registry (LINKTYPE_*); RAW also comes as 12 and 14.
const (
	LinkNull     = 0
	LinkEthernet = 1
	LinkRawBSD   = 12
	LinkRawOBSD  = 14
	LinkRaw      = 101
	LinkLoop     = 108
	LinkSLL      = 113
	LinkIPv4     = 228
	LinkIPv6     = 229
	LinkSLL2     = 276
)

// PktType is the kernel's skb->pkt_type.
type PktType uint8

const (
	Host PktType = iota
	Broadcast
	Multicast
	OtherHost
	Outgoing
)

// Dir is what the capture (not the addresses) says of a frame's direction.
type Dir uint8

const (
	DirUnknown Dir = iota
	DirIn
	DirOut
)

// Frame is one received frame as a port hands it over. Data is borrowed from
// the port until the burst is freed.
type Frame struct {
	Data         []byte  // captured bytes, from the link layer on
	TS           int64   // capture time, ns since the Unix epoch (TSC-derived in run)
	Num          uint64  // number of the frame on its port, from 1; 0 unknown (seeds `rand` of programs)
	WireLen      uint32  // length on the wire; more than len(Data) when cut
	Port         uint16  // index of the port in the configuration
	CPU          uint16  // CPU number of the queue it came on (software RSS in replay)
	Link         uint16  // Link* constant
	Dir          Dir     // what the capture says
	PktType      PktType // what the capture says; valid if HasPktType
	HasPktType   bool
	HasQueue     bool // pcapng epb_queue given: CPU is taken from it
	VLANStripped bool // TCI holds the outermost tag, taken off by the device
	TCI          uint16
}

// Flags are facts about a parsed frame.
type Flags uint32

const (
	HasPorts    Flags = 1 << iota // Sport and Dport are valid
	HasTuple                      // IPVer, Saddr, Daddr are valid
	HasSaddr                      // IPVer and Saddr are valid; without HasTuple the capture ends before Daddr
	HasProto                      // Proto is valid (all extension headers seen)
	Fragment                      // MF set or offset non-zero: FragID, FragOff, MoreFrags are valid
	FragHdr                       // an IPv6 fragment header is present (atomic ones too): as Fragment, and FragAt
	Exthdr                        // IPv6: NextHdr is not the upper-layer protocol
	IPOptions                     // IPv4 options present
	L4Short                       // the transport header is missing, by the wire or by the snap length
	L4Cut                         // snap length cut the datagram: bytes of it are missing here
	HasTCP                        // TCPFlags, Seq, Ack, Doff are valid
	HasICMP                       // ICMPType and ICMPCode are valid
	ICMPError                     // an ICMP(v6) error; Embedded reads the datagram in it
	L4CsumBad                     // transport checksum verified and wrong
	UDPZeroCsum                   // UDP checksum field is 0
	NonIPFrame                    // no IP header looked for or found; Punt or Reason says why
	Loopback                      // came over a loopback device: its address rules apply
	SuperFrame                    // GRO/GSO frame without a usable IP length: the wire length counts
)

// TCP header flags.
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
)

// Options choose the checks of Parse that cost time.
type Options struct {
	VerifyIP bool // IPv4 header checksum
	VerifyL4 bool // TCP and UDP checksums, where every byte is there
}

// Meta is what Parse learnt of one frame. Offsets are into Frame.Data. Filled
// as far as the bytes are there, also when Reason says that the frame is bad.
// Fields named beside a flag hold the values of an earlier frame unless that
// flag is set; all others are always written.
type Meta struct {
	Saddr, Daddr flowtable.Addr // HasTuple
	Sport, Dport uint16         // HasPorts; else 0
	Flags        Flags
	Seq, Ack     uint32 // HasTCP
	L3, L4       uint32 // offset of the outermost IP header, of the transport header (of a later fragment: its payload)
	Payload      uint32 // offset of the first byte after the transport header; may lie beyond a cut frame's end
	PayloadLen   uint32 // bytes after the transport header on the wire: TCP segment length, UDP length - 8
	L3Len        uint32 // length of the IP datagram, header included, as the packet says (trailer trimmed)
	L4Len        uint32 // length of the transport part on the wire: L3+L3Len-L4
	FragID       uint32 // Fragment or FragHdr
	FragOff      uint32 // bytes; 0 without Fragment
	FragAt       uint32 // FragHdr: offset of the IPv6 fragment header
	VLANs        uint64 // up to four VIDs, 16 bits each, outermost in the lowest
	NVLAN        uint8  // number of tags seen (may exceed four: see VLANStack); 255 for more
	IPVer        uint8  // 0, 4, 6: whose stack gets it, also when the header is unusable (no HasSaddr)
	Proto        uint8  // IPv4 protocol; IPv6 header after the extension headers
	NextHdr      uint8  // IPv6 next header of the fixed header; IPv4: Proto
	TOS          uint8  // IPv4 TOS / IPv6 traffic class (ECN in the low two bits)
	TTL          uint8  // or hop limit
	TCPFlags     uint8  // HasTCP
	Doff         uint8  // HasTCP: TCP header length, bytes
	ICMPType     uint8  // HasICMP
	ICMPCode     uint8  // HasICMP
	MoreFrags    bool   // Fragment
	PktType      PktType
	Reason       mib.Reason   // ip_rcv_core or ip6_rcv_core would drop it, before routing
	L4Reason     mib.Reason   // the code after routing would: IP options, extension headers, transport header, TCP checksum (a wrong UDP checksum is only L4CsumBad)
	Punt         mib.PuntWord // not IP, or link type unknown
}

// Has reports whether all flags in f are set.
func (m *Meta) Has(f Flags) bool { return m.Flags&f == f }
