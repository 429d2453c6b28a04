package dpdk

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/require"
)

var (
	macA = net.HardwareAddr{2, 0, 0, 0, 0, 1}
	macB = net.HardwareAddr{2, 0, 0, 0, 0, 2}
)

// udpFrame builds a frame from src:sport to dst:dport with right checksums.
func udpFrame(t testing.TB, src, dst string, sport, dport uint16, payload int, vlans ...uint16) []byte {
	t.Helper()
	ls := []gopacket.SerializableLayer{&layers.Ethernet{SrcMAC: macA, DstMAC: macB}}
	kind := layers.EthernetTypeIPv4
	s, d := net.ParseIP(src), net.ParseIP(dst)
	if s.To4() == nil {
		kind = layers.EthernetTypeIPv6
	}
	next := func(e layers.EthernetType) {
		switch l := ls[len(ls)-1].(type) {
		case *layers.Ethernet:
			l.EthernetType = e
		case *layers.Dot1Q:
			l.Type = e
		}
	}
	for _, v := range vlans {
		next(layers.EthernetTypeDot1Q)
		ls = append(ls, &layers.Dot1Q{VLANIdentifier: v})
	}
	next(kind)
	udp := &layers.UDP{SrcPort: layers.UDPPort(sport), DstPort: layers.UDPPort(dport)}
	if kind == layers.EthernetTypeIPv4 {
		ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: s, DstIP: d}
		require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
		ls = append(ls, ip, udp)
	} else {
		ip := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: s, DstIP: d}
		require.NoError(t, udp.SetNetworkLayerForChecksum(ip))
		ls = append(ls, ip, udp)
	}
	b := gopacket.NewSerializeBuffer()
	ls = append(ls, gopacket.Payload(bytes.Repeat([]byte{0xab}, payload)))
	require.NoError(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ls...))
	return bytes.Clone(b.Bytes())
}

// reversed is udpFrame with the MAC addresses swapped.
func reversed(t testing.TB, f []byte) []byte {
	t.Helper()
	g := bytes.Clone(f)
	copy(g, macA)
	copy(g[6:], macB)
	return g
}

func TestEchoKeepsChecksumsRight(t *testing.T) {
	for _, vlans := range [][]uint16{nil, {10}, {100, 20}} {
		for _, a := range [][2]string{{"10.0.0.1", "10.0.0.2"}, {"2001:db8::1", "2001:db8::2"}} {
			f := udpFrame(t, a[0], a[1], 1000, 53, 31, vlans...)
			require.True(t, Echo(f))
			require.Equal(t, reversed(t, udpFrame(t, a[1], a[0], 53, 1000, 31, vlans...)), f)
		}
	}
}

func TestEchoLeavesOthersAlone(t *testing.T) {
	edit := func(f func(b []byte)) []byte {
		b := udpFrame(t, "10.0.0.1", "10.0.0.2", 1, 2, 20)
		f(b)
		return b
	}
	cases := map[string][]byte{
		"group MAC":        edit(func(b []byte) { b[0] |= 1 }),
		"later fragment":   edit(func(b []byte) { b[21] = 1 }),
		"first fragment":   edit(func(b []byte) { b[20] = 0x20 }),
		"ICMP":             edit(func(b []byte) { b[23] = 1 }),
		"header too long":  edit(func(b []byte) { b[14] = 0x4f })[:50],
		"header too short": edit(func(b []byte) { b[14] = 0x44 }),
		"version":          edit(func(b []byte) { b[14] = 0x55 }),
		"ARP":              edit(func(b []byte) { b[13] = 6 }),
		"group address":    udpFrame(t, "10.0.0.1", "224.0.0.1", 1, 2, 20),
		"v6 group":         udpFrame(t, "2001:db8::1", "ff02::1", 1, 2, 20),
		"empty":            {},
	}
	for name, b := range cases {
		want := bytes.Clone(b)
		require.False(t, Echo(b), name)
		require.Equal(t, want, b, name)
	}
}

func FuzzEcho(f *testing.F) {
	f.Add(udpFrame(f, "10.0.0.1", "10.0.0.2", 1, 2, 20, 7))
	f.Add(udpFrame(f, "2001:db8::1", "2001:db8::2", 1, 2, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		was := bytes.Clone(b)
		if Echo(b) {
			Echo(b) // may refuse: a source may be what a destination may not
		}
		require.Len(t, b, len(was))
		DecTTL(b)
		SetMACs(b, [6]byte{}, [6]byte{})
	})
}

func ipSum(h []byte) uint16 {
	var s uint32
	for i := 0; i < len(h); i += 2 {
		s += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return ^uint16(s)
}

func TestDecTTL(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 10000 {
		h := make([]byte, 20)
		for i := range h {
			h[i] = byte(r.Uint32())
		}
		h[0], h[8], h[10], h[11] = 0x45, byte(2+r.IntN(254)), 0, 0
		binary.BigEndian.PutUint16(h[10:], ipSum(h))
		ttl := h[8]
		require.True(t, DecTTL(h))
		require.Equal(t, ttl-1, h[8])
		require.Zero(t, ipSum(h), "% x", h)
	}
	six := make([]byte, 40)
	six[0], six[7] = 0x60, 2
	require.True(t, DecTTL(six))
	require.False(t, DecTTL(six), "the last hop")
	require.Equal(t, byte(1), six[7])
	require.False(t, DecTTL([]byte{0x45}))
	require.False(t, DecTTL(make([]byte, 40)))
}

func TestSetMACs(t *testing.T) {
	f := udpFrame(t, "10.0.0.1", "10.0.0.2", 1, 2, 20)
	require.True(t, SetMACs(f, [6]byte(macA), [6]byte(macB)))
	require.Equal(t, append(bytes.Clone(macA), macB...), f[:12])
	require.False(t, SetMACs(f[:13], [6]byte{}, [6]byte{}))
}
