package dataplane

import (
	"encoding/binary"

	"edemux/dataplane/packet"
	"edemux/demux/cbpf"
)

// programInput describes the packet in hand to a group's program: the kernel
// pulls the transport header, so that offset 0 is the payload (run_bpf_filter).
// After reassembly the link layer is gone.
func programInput(p *pkt, secret [16]byte, in *cbpf.Input) {
	m := p.m
	have := uint32(len(p.data))
	end := min(m.L3+m.L3Len, have)
	*in = cbpf.Input{
		Data:    p.data[min(m.Payload, end):end],
		Net:     p.data[min(m.L3, end):end],
		Len:     m.L3 + m.L3Len - min(m.Payload, m.L3+m.L3Len),
		CPU:     uint32(p.f.CPU),
		Ifindex: p.ifc.Index,
		Queue:   1 + uint32(p.f.CPU),
		PktType: uint8(m.PktType),

		EtherType: 0x0800,
		VLANTCI:   uint16(m.VLANs),
		VLANTPID:  0x8100,
		VLANAvail: m.NVLAN > 0,
		Rand:      programSeed(secret, p.f),
	}
	if m.IPVer == 6 {
		in.EtherType = 0x86dd
	}
	if p.m != nil && &p.data[0] == &p.f.Data[0] {
		in.Link = p.data
	}
}

// programSeed seeds the random numbers of a packet: they hang on the secret,
// the port and the frame's number only, so that a replay repeats them.
func programSeed(secret [16]byte, f *packet.Frame) uint64 {
	x := binary.LittleEndian.Uint64(secret[:8]) ^ f.Num*0x9e3779b97f4a7c15
	y := binary.LittleEndian.Uint64(secret[8:]) ^ uint64(f.Port)*0xd6e8feb86659fd93
	x = (x ^ x>>29) * (y | 1)
	return x ^ x>>32
}
