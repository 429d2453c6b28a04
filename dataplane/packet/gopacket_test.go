package packet_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/require"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

func randAddr(r *rand.Rand, v6 bool) netip.Addr {
	if !v6 {
		return netip.AddrFrom4([4]byte{10, byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
	}
	a := [16]byte{0x20, 1, 0xd, 0xb8}
	for i := 4; i < 16; i++ {
		a[i] = byte(r.Uint32())
	}
	return netip.AddrFrom16(a)
}

// TestAgreesWithGopacket parses random sound packets with both and compares
// the tuple, the tags and the payload.
func TestAgreesWithGopacket(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range 3000 {
		v6 := r.IntN(2) == 0
		b := eth()
		for range r.IntN(3) {
			b.VLAN(uint16(r.IntN(4096)))
		}
		src, dst := randAddr(r, v6), randAddr(r, v6)
		if v6 {
			b.IPv6(src, dst)
			if r.IntN(3) == 0 {
				b.HopByHop()
			}
			if r.IntN(3) == 0 {
				b.DstOpts(alerts(r.IntN(4))...)
			}
		} else {
			b.IPv4(src, dst).ID(uint32(i))
		}
		sport, dport := uint16(r.Uint32()), uint16(r.Uint32())
		if r.IntN(2) == 0 {
			b.UDP(sport, dport)
		} else {
			b.TCP(sport, dport, uint8(r.Uint32())&0x3f).Seq(r.Uint32(), r.Uint32()).TCPOptions(make([]byte, r.IntN(40))...)
		}
		f := b.PayloadLen(r.IntN(200)).Frame()
		compareGopacket(t, &f)
	}
}

func compareGopacket(t *testing.T, f *packet.Frame) {
	m := parse(*f)
	require.Equal(t, mib.NotDropped, m.Reason)
	require.False(t, m.Has(packet.L4CsumBad))
	p := gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default)
	src, dst := p.NetworkLayer().NetworkFlow().Endpoints()
	require.Equal(t, m.Saddr.String(), src.String())
	require.Equal(t, m.Daddr.String(), dst.String())
	switch l := p.TransportLayer().(type) {
	case *layers.UDP:
		require.EqualValues(t, 17, m.Proto)
		require.EqualValues(t, l.SrcPort, m.Sport)
		require.EqualValues(t, l.DstPort, m.Dport)
		require.Equal(t, l.Payload, f.Data[m.Payload:m.Payload+m.PayloadLen])
	case *layers.TCP:
		require.EqualValues(t, 6, m.Proto)
		require.EqualValues(t, l.SrcPort, m.Sport)
		require.EqualValues(t, l.DstPort, m.Dport)
		require.Equal(t, l.Seq, m.Seq)
		require.Equal(t, l.Ack, m.Ack)
		require.Equal(t, l.SYN, m.TCPFlags&packet.SYN != 0)
		require.Equal(t, l.RST, m.TCPFlags&packet.RST != 0)
		require.Equal(t, l.Payload, f.Data[m.Payload:m.Payload+m.PayloadLen])
	default:
		t.Fatalf("gopacket sees %T", l)
	}
	var tags []uint16
	for _, l := range p.Layers() {
		if q, ok := l.(*layers.Dot1Q); ok {
			tags = append(tags, q.VLANIdentifier)
		}
	}
	require.Equal(t, tags, packet.VLANStack(f, nil))
}

// TestBuilderAgreesWithGopacket: the same packets from both builders are the
// same bytes, checksums included.
func TestBuilderAgreesWithGopacket(t *testing.T) {
	for _, n := range []int{0, 1, 18, 513} {
		payload := make([]byte, n)
		for i := range payload {
			payload[i] = byte(i * 7)
		}
		e4 := &layers.Ethernet{SrcMAC: packettest.MAC1[:], DstMAC: packettest.MAC2[:], EthernetType: layers.EthernetTypeIPv4}
		i4 := &layers.IPv4{Version: 4, TTL: 64, Id: 1, SrcIP: v4a.AsSlice(), DstIP: v4b.AsSlice(), Protocol: layers.IPProtocolUDP}
		u := &layers.UDP{SrcPort: 1000, DstPort: 53}
		require.NoError(t, u.SetNetworkLayerForChecksum(i4))
		require.Equal(t, serialize(t, e4, i4, u, gopacket.Payload(payload)), ip4().UDP(1000, 53).Payload(payload).Pad(60).Bytes())

		e6 := &layers.Ethernet{SrcMAC: packettest.MAC1[:], DstMAC: packettest.MAC2[:], EthernetType: layers.EthernetTypeIPv6}
		i6 := &layers.IPv6{Version: 6, HopLimit: 64, SrcIP: v6a.AsSlice(), DstIP: v6b.AsSlice(), NextHeader: layers.IPProtocolTCP}
		c := &layers.TCP{SrcPort: 1000, DstPort: 53, SYN: true, ACK: true, Seq: 9, Ack: 8, Window: 65535}
		require.NoError(t, c.SetNetworkLayerForChecksum(i6))
		require.Equal(t, serialize(t, e6, i6, c, gopacket.Payload(payload)),
			ip6().TCP(1000, 53, packet.SYN|packet.ACK).Seq(9, 8).Payload(payload).Pad(60).Bytes())

		i6.NextHeader = layers.IPProtocolICMPv6
		k := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(1, 4)}
		require.NoError(t, k.SetNetworkLayerForChecksum(i6))
		require.Equal(t, serialize(t, e6, i6, k, gopacket.Payload(append(make([]byte, 4), payload...))),
			ip6().ICMP(1, 4, 0).Payload(payload).Pad(60).Bytes())
	}
}

func serialize(t *testing.T, l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...))
	return b.Bytes()
}
