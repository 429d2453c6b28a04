package packettest_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

var (
	a4 = netip.MustParseAddr("192.0.2.1")
	b4 = netip.MustParseAddr("192.0.2.2")
	a6 = netip.MustParseAddr("2001:db8::1")
	b6 = netip.MustParseAddr("2001:db8::2")
)

func parse(f packet.Frame) (m packet.Meta) {
	packet.Parse(&f, &packet.Options{VerifyIP: true, VerifyL4: true}, &m)
	return m
}

// TestBytes pins one frame, byte by byte.
func TestBytes(t *testing.T) {
	d := packettest.New().Eth(packettest.MAC1, packettest.MAC2).VLAN(10).
		IPv4(a4, b4).ID(0x1234).TTL(9).UDP(1000, 53).Payload([]byte{0xab}).Bytes()
	assert.Equal(t, []byte{
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 10, 8, 0,
		0x45, 0, 0, 29, 0x12, 0x34, 0, 0, 9, 17, 0x1b, 0x99, 192, 0, 2, 1, 192, 0, 2, 2,
		3, 232, 0, 53, 0, 9, 0xcc, 0xba, 0xab,
	}, d)
}

func TestCloneIsItsOwn(t *testing.T) {
	b := packettest.New().IPv4(a4, b4).UDP(1, 2)
	before := b.Bytes()
	c := b.Clone().Set16(0, 99).BadSum().PayloadLen(5)
	assert.NotEqual(t, before, c.Bytes())
	assert.Equal(t, before, b.Bytes())
	assert.Equal(t, before, b.Bytes(), "building changes nothing")
}

func TestFragmentsCoverTheDatagram(t *testing.T) {
	for name, b := range map[string]*packettest.Builder{
		"v4":              packettest.New().IPv4(a4, b4).UDP(1, 2).PayloadLen(1000),
		"v4 options":      packettest.New().IPv4(a4, b4).IPOptions(1, 1, 1, 1).UDP(1, 2).PayloadLen(1000),
		"v6":              packettest.New().IPv6(a6, b6).UDP(1, 2).PayloadLen(1000),
		"v6 headers":      packettest.New().IPv6(a6, b6).HopByHop().Routing(0, 0).UDP(1, 2).PayloadLen(1000),
		"v6 with options": packettest.New().IPv6(a6, b6).FragHdr(0).DstOpts().UDP(1, 2).PayloadLen(1000),
		"v6 dst options":  packettest.New().IPv6(a6, b6).DstOpts().UDP(1, 2).PayloadLen(1000),
	} {
		for _, size := range []int{8, 104, 107, 2000} {
			next := uint32(0)
			fs := b.Fragments(size, 77)
			for i, f := range fs {
				m := parse(f)
				require.Zero(t, m.Reason, name)
				require.Equal(t, next, m.FragOff, name)
				require.Equal(t, len(fs) > 1, m.Has(packet.Fragment), name)
				if len(fs) > 1 {
					require.EqualValues(t, 77, m.FragID, name)
					require.Equal(t, i < len(fs)-1, m.MoreFrags, name)
				}
				at := m.L4
				if m.IPVer == 6 {
					at = m.FragAt + 8
				}
				next += m.L3 + m.L3Len - at
				if i > 0 {
					require.False(t, m.Has(packet.HasPorts), name)
				} else if size > 8 {
					require.EqualValues(t, 2, m.Dport, name)
				}
			}
			require.GreaterOrEqual(t, next, uint32(1008), name)
			require.LessOrEqual(t, next, uint32(1016), name)
		}
	}
}

func TestPatchLeavesChecksum(t *testing.T) {
	m := parse(packettest.New().IPv4(a4, b4).Set(8, 3).UDP(1, 2).Frame())
	assert.Zero(t, m.Reason, "Set comes before the checksum")
	m = parse(packettest.New().IPv4(a4, b4).Patch(8, 3).UDP(1, 2).Frame())
	assert.Equal(t, "IP_CSUM", m.Reason.String(), "Patch comes after it")
	m = parse(packettest.New().IPv4(a4, b4).Set16(10, 0x1111).UDP(1, 2).Frame())
	assert.Equal(t, "IP_CSUM", m.Reason.String(), "a chosen checksum stays")
	assert.EqualValues(t, 3, parse(packettest.New().IPv4(a4, b4).TTL(3).UDP(1, 2).Frame()).TTL)
}

func TestUDPZeroIsSentAsOnes(t *testing.T) {
	for i := range 65536 {
		d := packettest.New().IPv4(a4, b4).UDP(1, uint16(i)).Bytes()
		if d[26]|d[27] == 0 {
			t.Fatalf("port %d: checksum 0 means none", i)
		}
	}
}

func TestMisusePanics(t *testing.T) {
	assert.Panics(t, func() { packettest.New().UDP(1, 2).Bytes() })
	assert.Panics(t, func() { packettest.New().IPv6(a6, b6).BadSum() })
	assert.Panics(t, func() { packettest.New().IPv4(a4, b4).Fragments(8, 1) })
	assert.Panics(t, func() { packettest.New().IPv4(a4, b4).Set(19, 1, 2).Bytes() })
}
