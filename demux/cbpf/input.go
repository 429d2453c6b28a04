// Package cbpf assembles, checks, compiles and runs classic BPF programs that
// choose a member of a reuseport group.
//
// Job: text or numbers in, a compiled Program out, a 32-bit result per packet.
// Threads: a Program is immutable; Run may be called by any number of threads,
// each with an Input of its own. Ownership: Input borrows the packet's bytes
// for the call. Errors name the instruction and the reason. Kernel
// counterparts: bpf_check_classic and bpf_convert_filter in net/core/filter.c,
// run_bpf_filter in net/core/sock_reuseport.c.
package cbpf

// Input is a packet as a reuseport program sees it: offset 0 is the first byte
// after the transport header. All slices may be shorter than on the wire.
// A load of bytes that are not there ends the program with result 0, as a load
// beyond the packet does.
type Input struct {
	Data []byte // from offset 0 on: the payload
	Net  []byte // from the IP header on: offsets NetOff+n
	Link []byte // from the link-layer header on: offsets LinkOff+n

	Len       uint32 // payload length on the wire: `ld len`
	CPU       uint32 // that received the packet
	RxHash    uint32 // hash that the device gave (RSS); 0 = none
	Ifindex   uint32 // of the device after the l3mdev rewrite (dif)
	Queue     uint32 // skb->queue_mapping: 1 + receive queue, 0 = not recorded
	HaType    uint16 // ARPHRD_* of the device; Ethernet is 1
	VLANTCI   uint16
	VLANTPID  uint16 // host order
	EtherType uint16 // host order: 0x0800, 0x86dd
	PktType   uint8  // 0 host, 1 broadcast, 2 multicast, 3 otherhost
	VLANAvail bool

	// Rand is the state of the generator behind `ld rand`; seed it per packet
	// with (secret, port, frame). Run advances it.
	Rand uint64
}

// Special areas for absolute loads, as two's complement numbers.
const (
	LinkOff = 0xffe00000 // SKF_LL_OFF, -0x200000
	NetOff  = 0xfff00000 // SKF_NET_OFF, -0x100000
	adOff   = 0xfffff000 // SKF_AD_OFF, -0x1000: ancillary data
)

// random advances the generator (SplitMix64).
func (in *Input) random() uint32 {
	in.Rand += 0x9e3779b97f4a7c15
	z := in.Rand
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32((z ^ z>>31) >> 32)
}

// bytes returns n bytes at offset off, nil when they are not there. Negative
// offsets reach into the headers, as bpf_internal_load_pointer_neg_helper does.
func (in *Input) bytes(off, n uint32) []byte {
	area := in.Data
	if off >= 1<<31 {
		switch {
		case off >= NetOff:
			area, off = in.Net, off-NetOff
		case off >= LinkOff:
			area, off = in.Link, off-LinkOff
		default:
			return nil
		}
	}
	if uint64(off)+uint64(n) > uint64(len(area)) {
		return nil
	}
	return area[off : off+n]
}
