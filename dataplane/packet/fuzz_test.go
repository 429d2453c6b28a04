package packet_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// seeds are frames of every kind that Parse knows.
func seeds() []packet.Frame {
	n := packettest.New
	m1 := packettest.MAC1
	quote := n().IPv4(v4b, v4a).UDP(53, 1000).Bytes()
	quote6 := n().IPv6(v6b, v6a).HopByHop().TCP(53, 1000, 0).Bytes()
	fs := []packet.Frame{
		ip4().UDP(1, 2).PayloadLen(18).Frame(),
		ip4().TCP(1, 2, packet.SYN).TCPOptions(2, 4, 5, 180).Frame(),
		ip4().IPOptions(7, 7, 4, 0, 0, 0, 0, 68, 4, 9, 0).UDP(1, 2).PayloadLen(3).Frame(),
		ip4().Fragment(8, true).Proto(17).PayloadLen(16).Frame(),
		ip4().ICMP(3, 3, 0).Payload(quote).Frame(),
		ip6().UDP(1, 2).PayloadLen(18).Frame(),
		ip6().HopByHop(5, 2, 0, 0).DstOpts().Routing(0, 0).FragHdr(7).UDP(1, 2).Frame(),
		ip6().FragHdr(7).Fragment(64, true).Proto(17).PayloadLen(16).Frame(),
		ip6().Set16(4, 0).HopByHop(0xc2, 4, 0, 1, 0x11, 0x8c).TCP(1, 2, 0).Frame(),
		ip6().ICMP(1, 4, 0).Payload(quote6).Frame(),
		ip4().SCTP(1, 2).Frame(), ip6().DCCP(1, 2).Frame(), ip4().UDPLite(1, 2).Frame(),
		eth().Tag(packet.EtherQinQ, 5).VLAN(6).IPv4(v4a, v4b).UDP(1, 2).Frame(),
		eth().EtherType(40).PayloadLen(40).Frame(),
		udp4(n().SLL(packet.Host, 1, m1)), udp6(n().SLL2(packet.Outgoing, 772, 1, m1)),
		udp6(n().Loop(24)), udp4(n()), udp4(n().Eth(packettest.MAC{}, packettest.MAC{})),
	}
	return fs
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s.Data, s.WireLen, s.Link, uint8(0), uint16(0))
		f.Add(s.Data, s.WireLen+40, s.Link, uint8(15), uint16(0x2005))
	}
	f.Fuzz(func(t *testing.T, d []byte, wire uint32, link uint16, bits uint8, tci uint16) {
		fr := packet.Frame{Data: d, WireLen: wire & 0x3ffff, Link: link, TCI: tci,
			VLANStripped: bits&1 != 0, HasPktType: bits&2 != 0, PktType: packet.PktType(bits >> 4 % 5)}
		checkParse(t, &fr, &packet.Options{VerifyIP: bits&4 != 0, VerifyL4: bits&8 != 0})
	})
}

// checkParse holds everything that is true of any frame.
func checkParse(t *testing.T, f *packet.Frame, o *packet.Options) {
	var m, twin packet.Meta
	packet.Parse(f, o, &m)
	packet.ParseAny(f, o, &twin)
	if twin != m {
		require.Equal(t, twin, m, "the short cut differs")
	}
	dirty := dirtyMeta()
	packet.Parse(f, o, &dirty)
	if guarded(m) != guarded(dirty) {
		require.Equal(t, guarded(m), guarded(dirty), "an earlier frame shows")
	}

	n := uint32(len(f.Data))
	require.LessOrEqual(t, m.L3, n)
	if m.Punt != mib.NotPunted {
		require.False(t, m.Has(packet.HasSaddr))
		require.Equal(t, mib.NotDropped, m.Reason)
	}
	require.True(t, m.Punt != mib.NotPunted || m.Reason != mib.NotDropped || m.Has(packet.HasTuple), "no fate")
	if m.Has(packet.HasPorts) {
		require.True(t, m.Has(packet.HasTuple|packet.HasProto))
		require.LessOrEqual(t, m.L4+4, n)
		require.Zero(t, m.FragOff)
	} else {
		require.Zero(t, m.Sport|m.Dport)
	}
	if m.Has(packet.HasTCP) {
		require.LessOrEqual(t, m.L4+14, n)
	}
	require.LessOrEqual(t, m.PayloadLen, m.L4Len)
	require.LessOrEqual(t, uint64(m.L3)+uint64(m.L3Len), uint64(max(n, f.WireLen)))
	tags := packet.VLANStack(f, nil)
	require.Equal(t, min(len(tags), 255), int(m.NVLAN))
	for i, v := range tags[:min(len(tags), 4)] {
		require.Equal(t, v, uint16(m.VLANs>>(16*i)))
	}
	packet.Embedded(f.Data, &m)
	packet.ICMPSum(f.Data, &m)
	packet.SrcMAC(f)
	packet.DstMAC(f)
	packet.ParseDatagram(f.Data[m.L3:], f.WireLen, o, &m)
	require.False(t, m.Has(packet.Fragment))
}

// dirtyMeta has every bit set, as an earlier frame may have left it.
func dirtyMeta() (m packet.Meta) {
	m.Flags = ^packet.Flags(0)
	m.Saddr.Hi, m.Saddr.Lo, m.Daddr.Hi, m.Daddr.Lo = ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)
	m.Sport, m.Dport = 0xffff, 0xffff
	m.L3, m.L4, m.Payload, m.PayloadLen, m.L3Len, m.L4Len = 1e9, 1e9, 1e9, 1e9, 1e9, 1e9
	m.Seq, m.Ack, m.FragID, m.FragOff, m.FragAt = 1e9, 1e9, 1e9, 1e9, 1e9
	m.VLANs, m.NVLAN, m.MoreFrags = ^uint64(0), 255, true
	m.IPVer, m.Proto, m.NextHdr, m.TOS, m.TTL = 9, 9, 9, 9, 9
	m.TCPFlags, m.Doff, m.ICMPType, m.ICMPCode = 9, 9, 9, 9
	m.PktType, m.Reason, m.L4Reason, m.Punt = packet.Outgoing, mib.NoMem, mib.NoMem, mib.LLC
	return m
}

// guarded clears what a reader may not look at.
func guarded(m packet.Meta) packet.Meta {
	if !m.Has(packet.HasTuple) {
		m.Daddr.Hi, m.Daddr.Lo = 0, 0
	}
	if !m.Has(packet.HasSaddr) {
		m.Saddr.Hi, m.Saddr.Lo = 0, 0
	}
	if !m.Has(packet.HasTCP) {
		m.Seq, m.Ack, m.TCPFlags, m.Doff = 0, 0, 0, 0
	}
	if !m.Has(packet.HasICMP) {
		m.ICMPType, m.ICMPCode = 0, 0
	}
	if m.Flags&(packet.Fragment|packet.FragHdr) == 0 {
		m.FragID, m.MoreFrags = 0, false
	}
	if !m.Has(packet.FragHdr) {
		m.FragAt = 0
	}
	return m
}

// TestMutants damages every seed at random and checks what FuzzParse checks.
func TestMutants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	all := seeds()
	for range 100_000 {
		f := all[r.IntN(len(all))]
		f.Data = append([]byte(nil), f.Data...)
		for range r.IntN(4) {
			f.Data[r.IntN(len(f.Data))] = byte(r.Uint32())
		}
		switch r.IntN(4) {
		case 0:
			f.Data = f.Data[:r.IntN(len(f.Data)+1)]
		case 1:
			f.Data = f.Data[:r.IntN(len(f.Data)+1)]
			f.WireLen = uint32(len(f.Data))
		}
		checkParse(t, &f, &packet.Options{VerifyIP: r.IntN(2) == 0, VerifyL4: r.IntN(2) == 0})
		if t.Failed() {
			return
		}
	}
}

func FuzzEmbedded(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s.Data[14:], false, uint32(0))
		f.Add(s.Data[14:], true, uint32(9))
	}
	f.Fuzz(func(t *testing.T, quoted []byte, v6 bool, cut uint32) {
		b, typ := ip4(), uint8(11)
		if v6 {
			b, typ = ip6(), 3
		}
		fr := b.ICMP(typ, 0, 0).Payload(quoted).Frame()
		fr.WireLen += cut & 0xffff
		m := parse(fr)
		e, ok := packet.Embedded(fr.Data, &m)
		if ok {
			assert.True(t, e.IPVer == m.IPVer)
			assert.False(t, e.HasPorts && e.Fragment)
		}
		if e.HasSeq {
			assert.True(t, e.HasPorts && e.Proto == packet.ProtoTCP)
		}
	})
}

// TestParseDatagram: a reassembled datagram keeps what the link layer said and
// must not be a fragment again.
func TestParseDatagram(t *testing.T) {
	m := packet.Meta{PktType: packet.Multicast, VLANs: 7, NVLAN: 1, Flags: packet.Loopback | packet.Fragment | packet.HasTCP}
	d := packettest.New().IPv4(v4a, v4b).UDP(1000, 53).PayloadLen(4000).Bytes()
	packet.ParseDatagram(d, uint32(len(d)), &verify, &m)
	assert.Equal(t, tuple{"10.0.0.1", "10.0.0.2", 1000, 53, 17}, tupleOf(&m))
	assert.Equal(t, packet.Multicast, m.PktType)
	assert.True(t, m.Has(packet.Loopback))
	assert.EqualValues(t, 1, m.NVLAN)
	assert.False(t, m.Has(packet.HasTCP))
	assert.Zero(t, m.L3)
	packet.ParseDatagram(d[:100], uint32(len(d)), &verify, &m)
	assert.EqualValues(t, 53, m.Dport)
	assert.EqualValues(t, 4000, m.PayloadLen)
	assert.Equal(t, mib.NotDropped, m.L4Reason)
	d = packettest.New().IPv6(v6a, v6b).DstOpts().FragHdr(3).UDP(1, 2).Bytes()
	packet.ParseDatagram(d, uint32(len(d)), &verify, &m)
	assert.Equal(t, mib.IPv6BadExthdr, m.L4Reason)
}
