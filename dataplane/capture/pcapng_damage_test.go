package capture

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// base is a section with one interface and one packet, after which each case
// puts something bad.
func base(big bool) *enc {
	return (&enc{big: big}).shb().idb(1, 0).epb(0, 1, []byte("good"))
}

func TestNGCutAtEveryByte(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		e := base(big).block(77, make([]byte, 8)).epb(0, 2, []byte("second"), e4(big)).spb(3, []byte("abc")).shb().idb(1, 0)
		var starts []int // of blocks
		for at := 0; at < len(e.b); at += int(order(big).Uint32(e.b[at+4:])) {
			starts = append(starts, at)
		}
		packets := map[int]int{2: 1, 4: 1, 5: 1} // by block
		for n := starts[1]; n < len(e.b); n++ {
			block, frames := 0, 0
			for block+1 < len(starts) && starts[block+1] <= n {
				frames += packets[block]
				block++
			}
			fs, ws := readBytes(t, e.b[:n])
			require.Len(t, fs, frames, "cut at %d", n)
			if n == starts[block] {
				require.Empty(t, ws, "cut at %d", n)
				continue
			}
			require.Len(t, ws, 1, "cut at %d", n)
			require.Equal(t, Warning{uint64(frames + 1), int64(starts[block]), ws[0].What}, ws[0])
			require.Contains(t, ws[0].What, "cut")
		}
	})
}

func e4(big bool) []byte { return (&enc{big: big}).opt32(epbFlags, 1) }

func TestNGDamage(t *testing.T) {
	both(t, func(t *testing.T, big bool) {
		b := func() *enc { return base(big) }
		good := len(b().b)
		body := func(vs ...uint32) []byte { return (&enc{big: big}).u32(vs...).b }
		for name, c := range map[string]struct {
			b    []byte
			what string
		}{
			"block length 0":         {b().u32(6, 0, 0, 0).b, "type 0x6 with impossible length 0"},
			"block length 8":         {b().u32(9, 8, 8, 0).b, "impossible length 8"},
			"block length not by 4":  {b().u32(9, 13).u8(make([]byte, 13)...).b, "impossible length 13"},
			"totals differ":          {b().u32(9, 16, 0, 20).b, "lengths differ: 16 at its start, 20 at its end"},
			"packet totals differ":   {differ(b().epb(0, 2, []byte("x")).b), "lengths differ: 36 at its start, "},
			"unknown, 4 GiB":         {b().u32(9, 0xfffffffc).u8(make([]byte, 9999)...).b, "block of 4294967292 bytes cut"},
			"interface, 4 GiB":       {b().u32(1, 0xfffffffc).u8(make([]byte, 9999)...).b, "over the limit of 524288"},
			"packet, 4 GiB":          {b().u32(6, 0xfffffffc, 0, 0, 0, 4, 4, 0).b, "over the limit of 524288"},
			"packet data over limit": {b().u32(6, 0x100000, 0, 0, 0, MaxRecord+1, 4, 0).b, "record of 262145 bytes, over the limit of 262144"},
			"simple over limit":      {b().u32(3, 0x100000, 0x0fffff, 0).b, "over the limit of 262144"},
			"section, 4 GiB":         {b().u32(blockSHB, 0xfffffffc, orderMagic).u16(1).u16(0).u32(0, 0).b, "cut"},
			"section of 24 bytes":    {b().u32(blockSHB, 24, orderMagic).u16(1).u16(0).u32(0, 24).b, "impossible length 24"},
			"section order":          {b().u32(blockSHB, 28, 0x1a2b3c4e, 0, 0, 0, 28).b, "without byte-order magic"},
			"section version":        {b().u32(blockSHB, 28, orderMagic).u16(3).u16(0).u32(0, 0, 28).b, "pcapng version 3"},
			"interface too short":    {b().block(blockIDB, body(1)).b, "interface description with impossible length 16"},
			"packet too short":       {b().block(blockEPB, body(0, 0, 0, 0)).b, "packet block with impossible length 28"},
			"old packet too short":   {b().block(blockPB, body(0, 0, 0, 0)).b, "packet block with impossible length 28"},
			"simple too short":       {b().block(blockSPB, nil).b, "simple packet block with impossible length 12"},
			"data over the block":    {b().block(blockEPB, body(0, 0, 0, 5, 5, 0)).b, "record of 5 bytes in a block of 36"},
			"no such interface":      {b().epb(1, 2, nil).b, "packet of interface 1, which the capture does not describe"},
			"interface 4 G":          {b().epb(0xffffffff, 2, nil).b, "packet of interface 4294967295"},
			"interface of before":    {b().shb().epb(0, 2, nil).b, "packet of interface 0"},
			"simple, no interface":   {b().shb().spb(0, nil).b, "packet of interface 0"},
			"zeros":                  {b().u8(make([]byte, 100)...).b, "impossible length 0"},
		} {
			t.Run(name, func(t *testing.T) {
				at := good
				if name == "interface of before" || name == "simple, no interface" {
					at += 28
				}
				requireDamage(t, c.b, 1, at, c.what)
			})
		}
	})
}

// differ changes the second length of the last block.
func differ(b []byte) []byte {
	b[len(b)-2] ^= 0x40
	return b
}

func TestNGLargestBlocks(t *testing.T) {
	data := make([]byte, MaxRecord)
	e := (&enc{}).shb().idb(1, 0)
	e.epb(0, 1, data, e.opt(optComment, bytes.Repeat([]byte("c"), 65535)), e.opt32(epbQueue, 3))
	e.spb(MaxRecord, data)
	fs := requireClean(t, e.b)
	require.Len(t, fs, 2)
	require.Len(t, fs[0].Data, MaxRecord)
	require.Len(t, fs[1].Data, MaxRecord)
	require.True(t, fs[0].HasQueue)
}

func TestNGTooManyInterfaces(t *testing.T) {
	e := (&enc{}).shb()
	for range maxInterfaces {
		e.idb(1, 0)
	}
	e.epb(maxInterfaces-1, 1, []byte("ok"))
	at := len(e.b)
	e.idb(1, 0).epb(0, 2, nil)
	requireDamage(t, e.b, 1, at, "more than 4096 interfaces")

	e = &enc{}
	for i := range 3 * maxInterfaces { // sections that differ in their interface's name
		name := binary.BigEndian.AppendUint32(nil, uint32(i)|0x01010101<<3)
		e.shb().idb(1, 0, e.opt(ifName, name)).spb(0, nil)
	}
	r := newReader(t, e.b)
	readAll(t, r)
	require.LessOrEqual(t, len(r.Interfaces()), maxInterfaces)
	require.LessOrEqual(t, len(r.Warnings()), 1)

	e = &enc{}
	for range 3 * maxInterfaces { // sections that repeat each other are no new interfaces
		e.shb().idb(1, 0).spb(0, nil)
	}
	require.Len(t, requireClean(t, e.b), 3*maxInterfaces)
}
