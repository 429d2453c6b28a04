package capture

import (
	"bytes"
	"fmt"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

func both(t *testing.T, f func(t *testing.T, big bool)) {
	for _, big := range []bool{le, be} {
		t.Run(fmt.Sprintf("big=%v", big), func(t *testing.T) { f(t, big) })
	}
}

func TestNGPacketBlocks(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		e := (&enc{big: big}).shb().idb(1, 0).idb(113, 3)
		e.epb(1, 0x5_0000_0006, []byte("hello"))
		e.spb(6, []byte("simple"))
		e.block(blockPB, (&enc{big: big}).u16(1).u16(7).u32(5, 7, 3, 99).u8(1, 2, 3).pad().
			u8(e.opt32(epbFlags, 2)...).u8(e.opt32(epbQueue, 3)...).b)
		fs := requireClean(t, e.b)
		require.Len(t, fs, 3)
		ts := int64(0x5_0000_0006) * 1000
		require.Equal(t, got{packet.Frame{Data: []byte("hello"), TS: ts, WireLen: 5, Link: 113}, 1}, fs[0])
		require.Equal(t, got{packet.Frame{Data: []byte("simple"), TS: ts, WireLen: 6, Link: 1}, 0}, fs[1])
		require.Equal(t, got{packet.Frame{Data: []byte{1, 2, 3}, TS: ts + 1000, WireLen: 99, Link: 113,
			Dir: packet.DirOut}, 1}, fs[2], "code 6 of the obsolete block is no queue")
	})
}

// A simple packet block has no time of its own: it repeats the input's last.
func TestNGSimpleBlocks(t *testing.T) {
	e := (&enc{}).shb().idb(1, 4)
	e.spb(10, []byte("snap"))          // cut by the snap length
	e.spb(2, []byte("xy"))             // padding is no data
	e.spb(9, []byte("1234567x"))       // the block holds more than the snap length allows
	e.epb(0, 123, []byte("a"))         //
	e.spb(0, nil)                      // an empty frame
	e.shb().idb(1, 0)                  // a new section, same input
	e.spb(900, []byte("shorter now!")) // no snap length: what the block holds
	fs := requireClean(t, e.b)
	require.Len(t, fs, 6)
	for i, want := range []struct {
		data string
		wire uint32
		ts   int64
	}{{"snap", 10, 0}, {"xy", 2, 0}, {"1234", 9, 0}, {"a", 1, 123000}, {"", 0, 123000}, {"shorter now!", 900, 123000}} {
		require.Equal(t, want.data, string(fs[i].Data), "frame %d", i+1)
		require.Equal(t, want.wire, fs[i].WireLen)
		require.Equal(t, want.ts, fs[i].TS)
	}
}

func TestNGSectionsOfBothOrders(t *testing.T) {
	little, big := &enc{}, &enc{big: true}
	little.shb().idb(1, 0, little.opt(ifName, []byte("eth0"))).epb(0, 1, []byte("one"))
	big.shb().idb(101, 0, big.opt(ifName, []byte("tun0")), big.opt(ifTsresol, []byte{9})).epb(0, 2, []byte("two"))
	again := (&enc{}).shb().idb(1, 0, little.opt(ifName, []byte("eth0"))).epb(0, 3, []byte("three"))
	r := newReader(t, bytes.Join([][]byte{little.b, big.b, again.b}, nil))
	fs := readAll(t, r)
	require.Empty(t, r.Warnings())
	require.Len(t, fs, 3)
	require.Equal(t, got{packet.Frame{Data: []byte("one"), TS: 1000, WireLen: 3, Link: 1}, 0}, fs[0])
	require.Equal(t, got{packet.Frame{Data: []byte("two"), TS: 2, WireLen: 3, Link: 101}, 1}, fs[1])
	require.Equal(t, got{packet.Frame{Data: []byte("three"), TS: 3000, WireLen: 5, Link: 1}, 0}, fs[2])
	require.Equal(t, []Interface{{"eth0", 1, 0}, {"tun0", 101, 0}}, r.Interfaces(), "told again is the same interface")
	require.False(t, r.Several(), "one interface in each section")
}

func TestNGInterfacesGrow(t *testing.T) {
	filler := make([]byte, 60_000)
	e := (&enc{}).shb().idb(1, 0).epb(0, 1, filler).epb(0, 1, filler).epb(0, 1, filler)
	e.idb(113, 0).epb(1, 2, []byte("late"))
	r := newReader(t, e.b)
	var f packet.Frame
	for range 3 {
		require.NoError(t, r.Next(&f))
		require.Len(t, r.Interfaces(), 1)
		require.False(t, r.Several())
	}
	require.NoError(t, r.Next(&f))
	require.Equal(t, "late", string(f.Data))
	require.Len(t, r.Interfaces(), 2)
	require.Equal(t, 1, r.Interface())
	require.True(t, r.Several())
}

// Writers describe an interface as late as before its first packet; within the
// first buffer the reader knows.
func TestNGLooksAhead(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		e := (&enc{big: big}).shb().idb(1, 0).epb(0, 1, make([]byte, 40_000)).
			block(0xbad, make([]byte, 40_000)).idb(1, 0)
		r := newReader(t, e.b)
		require.True(t, r.Several())
		require.Empty(t, r.Interfaces())
	})
	two := (&enc{}).shb().idb(1, 0).shb().idb(1, 0)
	require.False(t, newReader(t, two.b).Several())
}

func TestNGFlagsAndQueue(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		o := &enc{big: big}
		for _, c := range []struct {
			opts [][]byte
			want packet.Frame
		}{
			{[][]byte{o.opt32(epbFlags, 0)}, packet.Frame{}},
			{[][]byte{o.opt32(epbFlags, 1)}, packet.Frame{Dir: packet.DirIn}},
			{[][]byte{o.opt32(epbFlags, 2)}, packet.Frame{Dir: packet.DirOut}},
			{[][]byte{o.opt32(epbFlags, 3)}, packet.Frame{}},
			{[][]byte{o.opt32(epbFlags, 1<<2|1)}, packet.Frame{Dir: packet.DirIn, HasPktType: true, PktType: packet.Host}},
			{[][]byte{o.opt32(epbFlags, 2<<2)}, packet.Frame{HasPktType: true, PktType: packet.Multicast}},
			{[][]byte{o.opt32(epbFlags, 3<<2)}, packet.Frame{HasPktType: true, PktType: packet.Broadcast}},
			{[][]byte{o.opt32(epbFlags, 4<<2|0xffff<<16|2)}, packet.Frame{Dir: packet.DirOut, HasPktType: true, PktType: packet.OtherHost}},
			{[][]byte{o.opt32(epbFlags, 5<<2)}, packet.Frame{}},
			{[][]byte{o.opt32(epbQueue, 0)}, packet.Frame{HasQueue: true}},
			{[][]byte{o.opt32(epbQueue, 65535)}, packet.Frame{HasQueue: true, CPU: 65535}},
			{[][]byte{o.opt32(epbQueue, 65536)}, packet.Frame{}},
			{[][]byte{o.opt(epbQueue, []byte{1, 0})}, packet.Frame{}},
			{[][]byte{o.opt(optComment, []byte("five!")), o.opt32(epbQueue, 7), o.opt32(epbFlags, 1), o.opt(optEnd, nil)},
				packet.Frame{HasQueue: true, CPU: 7, Dir: packet.DirIn}},
			{[][]byte{o.opt(optEnd, nil), o.opt32(epbQueue, 7)}, packet.Frame{}},
			{[][]byte{o.opt32(epbQueue, 7), (&enc{big: big}).u16(epbFlags).u16(4000).b}, packet.Frame{HasQueue: true, CPU: 7}},
			{[][]byte{{0xff, 0xff, 0xff, 0xff}}, packet.Frame{}},
		} {
			for pad := range 4 { // of the data
				e := (&enc{big: big}).shb().idb(1, 0).epb(0, 5, []byte("abcd")[:1+pad], c.opts...)
				c.want.Data, c.want.TS, c.want.WireLen, c.want.Link = []byte("abcd")[:1+pad], 5000, uint32(1+pad), 1
				fs := requireClean(t, e.b)
				require.Len(t, fs, 1)
				require.Equal(t, c.want, fs[0].Frame, "%x", c.opts)
			}
		}
	})
}

func TestNGInterfaceOptions(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		o := &enc{big: big}
		long := bytes.Repeat([]byte("n"), 300)
		minusOne := o.opt(ifTsoffset, bytes.Repeat([]byte{0xff}, 8))
		hour := (&enc{big: big})
		if big {
			hour.u32(0, 3600)
		} else {
			hour.u32(3600, 0)
		}
		e := (&enc{big: big}).shb()
		e.idb(1, 0, o.opt(ifName, []byte("eth0\x00\x00")), o.opt(ifTsresol, []byte{3}), o.opt(ifTsoffset, hour.b))
		e.idb(1, 0, o.opt(ifName, long), minusOne, o.opt(ifTsresol, []byte{0x81}))
		e.idb(1, 0, o.opt(ifTsresol, []byte{1, 2}), o.opt(ifTsoffset, []byte{1}), o.opt(99, []byte("x")))
		e.epb(0, 2, nil).epb(1, 5, nil).epb(2, 4, nil)
		r := newReader(t, e.b)
		fs := readAll(t, r)
		require.Empty(t, r.Warnings())
		require.Equal(t, int64(3600e9+2e6), fs[0].TS)
		require.Equal(t, int64(1.5e9), fs[1].TS)
		require.Equal(t, int64(4000), fs[2].TS, "options of a wrong length are left alone")
		require.Equal(t, "eth0", r.Interfaces()[0].Name)
		require.Equal(t, string(long[:255]), r.Interfaces()[1].Name)
	})
}

func TestNGUnknownBlocks(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		e := (&enc{big: big}).shb().block(0xbad, nil).idb(1, 0)
		e.block(4, make([]byte, 100)).block(0x40000bad, make([]byte, 3<<20)).block(0x0a0d0d0b, nil)
		e.epb(0, 1, []byte("x")).block(5, make([]byte, 20))
		require.Len(t, requireClean(t, e.b), 1)
	})
}

func TestNGWithoutPackets(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		require.Empty(t, requireClean(t, (&enc{big: big}).shb().b))
		require.Empty(t, requireClean(t, (&enc{big: big}).shb().idb(147, 0).b))
	})
}
