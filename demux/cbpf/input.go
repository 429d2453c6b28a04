// Package cbpf assembles, checks, compiles and runs classic BPF programs that
// choose a member of a reuseport group.
//
// Job: text or numbers in, a compiled Program out, a 32-bit result per packet.
// Threads: a Program is immutable; Run may be called by any number of threads,
// each with an Input of its own. Ownership: Input borrows the packet's bytes
// for the call. Errors name the instruction and the reason. Kernel
// counterparts: bpf_check_classic and ___bpf_prog_run in net/core/filter.c and
// kernel/bpf/core.c, run_bpf_filter in net/core/sock_reuseport.c.
package cbpf

// Input is a packet as a reuseport program sees it: offset 0 is the first byte
// after the transport header. All slices may be shorter than on the wire.
// A load of bytes that are not there ends the program with result 0, as a load
// beyond the packet does.
type Input struct {
	Data []byte // from offset 0 on: the payload
	Net  []byte // from the IP header on: offsets SKF_NET_OFF (-0x100000) + n
	Link []byte // from the link-layer header on: SKF_LL_OFF (-0x200000) + n

	Len       uint32 // payload length on the wire: `ld len`
	CPU       uint32
	RxHash    uint32 // hash the device gave (RSS), 0 = none
	Ifindex   uint32
	Mark      uint32
	Queue     uint32
	HatType   uint32 // ARPHRD_*
	VLANTCI   uint16
	VLANTPID  uint16
	EtherType uint16 // host order: 0x0800, 0x86dd
	PktType   uint8  // 0 host, 1 broadcast, 2 multicast, 3 otherhost
	VLANAvail bool
	PayOff    uint32 // SKF_AD_PAY_OFFSET: offset of the payload as the flow dissector says

	// Rand is the state of the generator behind `ld rand`; seed it per packet
	// with (secret, port, frame). Run advances it.
	Rand uint64
}
