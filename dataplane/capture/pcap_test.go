package capture

import (
	"fmt"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

func TestPcapMagics(t *testing.T) {
	for _, c := range []struct {
		name  string
		magic uint32
		frac  uint32
		want  int64
		kuz   bool
	}{
		{"microseconds", 0xa1b2c3d4, 999_999, 1_700_000_000_999_999_000, false},
		{"nanoseconds", 0xa1b23c4d, 999_999_999, 1_700_000_000_999_999_999, false},
		{"kuznetzov", 0xa1b2cd34, 7, 1_700_000_000_000_007_000, true},
	} {
		for _, big := range []bool{le, be} {
			t.Run(fmt.Sprintf("%s/big=%v", c.name, big), func(t *testing.T) {
				e := (&enc{big: big}).pcapHead(c.magic, packet.LinkSLL2)
				for i := range byte(3) {
					e.u32(1_700_000_000, c.frac, 2, 1500)
					if c.kuz {
						e.u32(3).u16(0x800).u8(4, 0)
					}
					e.u8(i, 0xee)
				}
				fs := requireClean(t, e.b)
				require.Len(t, fs, 3)
				for i, f := range fs {
					require.Equal(t, packet.Frame{
						Data: []byte{byte(i), 0xee}, TS: c.want, WireLen: 1500, Link: packet.LinkSLL2,
					}, f.Frame)
				}
			})
		}
	}
}

func TestPcapTimes(t *testing.T) {
	e := (&enc{}).pcapHead(0xa1b2c3d4, 1)
	e.rec(0xffffffff, 0, nil) // seconds have no sign
	e.rec(1, 1_000_007, nil)  // an impossible fraction is added as it stands
	e.rec(1, 0xffffffff, nil)
	fs := requireClean(t, e.b)
	require.Equal(t, int64(4294967295e9), fs[0].TS)
	require.Equal(t, int64(2_000_007_000), fs[1].TS)
	require.Equal(t, int64(1e9+4294967295000), fs[2].TS)
}

// The FCS bits of the network field are no part of the link type; a class is,
// and makes it one that no parser knows.
func TestPcapNetworkField(t *testing.T) {
	for network, want := range map[uint32]uint16{
		1:                        1,
		1 | 1<<26 | 2<<28:        1,
		276 | 1<<26 | 0xf<<28:    276,
		0x0224_0001:              linkNone,
		packet.LinkIPv6 | 1<<27:  packet.LinkIPv6,
		packet.LinkIPv4 | 15<<28: packet.LinkIPv4,
	} {
		e := (&enc{}).pcapHead(0xa1b2c3d4, network).rec(0, 0, []byte{1})
		fs, ws := readBytes(t, e.b)
		require.Equal(t, want, fs[0].Link, "network %#x", network)
		require.Equal(t, want == linkNone, len(ws) == 1)
	}
}

func TestPcapOldVersions(t *testing.T) {
	for _, c := range []struct {
		major, minor uint16
		a, b         uint32 // the two length fields
	}{
		{2, 4, 2, 9},
		{2, 3, 2, 9},
		{2, 3, 9, 2}, // the version that was written either way
		{2, 2, 9, 2},
		{543, 0, 9, 2},
	} {
		e := (&enc{}).u32(0xa1b2c3d4).u16(c.major).u16(c.minor).u32(0, 0, 100, 1)
		e.u32(0, 0, c.a, c.b).u8(1, 2)
		fs := requireClean(t, e.b)
		require.Len(t, fs, 1, "%v", c)
		require.Equal(t, []byte{1, 2}, fs[0].Data)
		require.Equal(t, uint32(9), fs[0].WireLen)
	}
}

// A length on the wire below the captured one cannot be.
func TestPcapWireLenNeverBelowData(t *testing.T) {
	e := (&enc{}).pcapHead(0xa1b2c3d4, 1).u32(0, 0, 4, 1).u8(1, 2, 3, 4)
	require.Equal(t, uint32(4), requireClean(t, e.b)[0].WireLen)
}

func TestPcapWithoutPackets(t *testing.T) {
	for _, big := range []bool{le, be} {
		require.Empty(t, requireClean(t, (&enc{big: big}).pcapHead(0xa1b2c3d4, 147).b))
	}
}

func TestPcapDamage(t *testing.T) {
	two := func() *enc {
		return (&enc{}).pcapHead(0xa1b2c3d4, 1).rec(1, 0, []byte("first")).rec(2, 0, []byte("second"))
	}
	whole := two().b
	at := 24 + 16 + 5
	t.Run("cut at every byte", func(t *testing.T) {
		for n := 24; n < len(whole); n++ {
			switch {
			case n == 24:
				require.Empty(t, requireClean(t, whole[:n]))
			case n < at:
				requireDamage(t, whole[:n], 0, 24, "cut after")
			case n == at:
				require.Len(t, requireClean(t, whole[:n]), 1)
			default:
				requireDamage(t, whole[:n], 1, at, "cut after")
			}
		}
	})
	t.Run("wording", func(t *testing.T) {
		requireDamage(t, whole[:at+7], 1, at, "record header cut after 7 of 16 bytes")
		requireDamage(t, whole[:at+18], 1, at, "record cut after 18 of 22 bytes")
	})
	t.Run("the largest record", func(t *testing.T) {
		e := two().rec(3, 0, make([]byte, MaxRecord)).rec(4, 0, []byte("x"))
		fs := requireClean(t, e.b)
		require.Len(t, fs, 4)
		require.Len(t, fs[2].Data, MaxRecord)
	})
	t.Run("one byte more", func(t *testing.T) {
		e := two().rec(3, 0, make([]byte, MaxRecord+1)).rec(4, 0, []byte("x"))
		requireDamage(t, e.b, 2, len(whole), "record of 262145 bytes, over the limit of 262144")
	})
	t.Run("the largest length", func(t *testing.T) {
		requireDamage(t, two().u32(3, 0, 0xffffffff, 0xffffffff).u8(make([]byte, 4096)...).b, 2, len(whole), "4294967295")
	})
}

func TestUnknownLinkTypes(t *testing.T) {
	e := (&enc{}).pcapHead(0xa1b2c3d4, 147).rec(1, 0, []byte{1}).rec(2, 0, []byte{2})
	fs, ws := readBytes(t, e.b)
	require.Len(t, fs, 2)
	require.Equal(t, uint16(147), fs[1].Link)
	require.Len(t, ws, 1, "one warning, not one per frame")
	require.Equal(t, Warning{1, 24, "link type 147 is not supported; its frames are counted but not parsed"}, ws[0])

	for _, l := range []uint32{0, 1, 12, 14, 101, 108, 113, 228, 229, 276} {
		requireClean(t, (&enc{}).pcapHead(0xa1b2c3d4, l).rec(1, 0, []byte{1}).b)
	}
}

func TestUnknownLinkTypesOfManyInterfaces(t *testing.T) {
	e := (&enc{}).shb()
	for i := range uint32(40) {
		e.idb(uint16(2000+i/2), 0).epb(i, 1, []byte{1}).epb(i, 2, []byte{1})
	}
	fs, ws := readBytes(t, e.b)
	require.Len(t, fs, 80)
	require.Len(t, ws, maxLinkWarnings)
	require.Contains(t, ws[1].What, "link type 2001 ")
	require.Equal(t, uint64(5), ws[1].Frame)
}
