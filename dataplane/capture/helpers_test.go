package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// le and be name byte orders in tables.
const le, be = false, true

// enc builds files byte by byte, independently of the writers.
type enc struct {
	big bool
	b   []byte
}

func (e *enc) u8(v ...byte) *enc { e.b = append(e.b, v...); return e }

func (e *enc) u16(v uint16) *enc {
	if e.big {
		e.b = binary.BigEndian.AppendUint16(e.b, v)
	} else {
		e.b = binary.LittleEndian.AppendUint16(e.b, v)
	}
	return e
}

func (e *enc) u32(vs ...uint32) *enc {
	for _, v := range vs {
		if e.big {
			e.b = binary.BigEndian.AppendUint32(e.b, v)
		} else {
			e.b = binary.LittleEndian.AppendUint32(e.b, v)
		}
	}
	return e
}

func (e *enc) pad() *enc {
	for len(e.b)%4 != 0 {
		e.b = append(e.b, 0)
	}
	return e
}

// pcapHead is a file header of version 2.4.
func (e *enc) pcapHead(magic, network uint32) *enc {
	return e.u32(magic).u16(2).u16(4).u32(0, 0, MaxRecord, network)
}

// rec is a pcap record.
func (e *enc) rec(sec, frac uint32, data []byte) *enc {
	n := uint32(len(data))
	return e.u32(sec, frac, n, n).u8(data...)
}

// block appends a pcapng block with this body, padded.
func (e *enc) block(typ uint32, body []byte) *enc {
	n := uint32(len(body)+3)&^3 + 12
	return e.u32(typ, n).u8(body...).pad().u32(n)
}

func (e *enc) shb() *enc {
	return e.block(blockSHB, (&enc{big: e.big}).u32(orderMagic).u16(1).u16(0).u32(0xffffffff, 0xffffffff).b)
}

// opt is one pcapng option.
func (e *enc) opt(code uint16, val []byte) []byte {
	return (&enc{big: e.big}).u16(code).u16(uint16(len(val))).u8(val...).pad().b
}

func (e *enc) opt32(code uint16, v uint32) []byte {
	return e.opt(code, (&enc{big: e.big}).u32(v).b)
}

func (e *enc) idb(link uint16, snaplen uint32, opts ...[]byte) *enc {
	body := (&enc{big: e.big}).u16(link).u16(0).u32(snaplen)
	return e.block(blockIDB, body.u8(bytes.Join(opts, nil)...).b)
}

func (e *enc) epb(id uint32, ts uint64, data []byte, opts ...[]byte) *enc {
	n := uint32(len(data))
	body := (&enc{big: e.big}).u32(id, uint32(ts>>32), uint32(ts), n, n).u8(data...).pad()
	return e.block(blockEPB, body.u8(bytes.Join(opts, nil)...).b)
}

func (e *enc) spb(wire uint32, data []byte) *enc {
	return e.block(blockSPB, (&enc{big: e.big}).u32(wire).u8(data...).b)
}

// got is a frame with its own copy of the data.
type got struct {
	packet.Frame
	Iface int
}

// readAll reads to the end and fails the test on an error other than io.EOF.
func readAll(t testing.TB, r *Reader) []got {
	t.Helper()
	var fs []got
	for {
		var f packet.Frame
		err := r.Next(&f)
		if err == io.EOF {
			require.Equal(t, io.EOF, r.Next(&f), "the end stays the end")
			return fs
		}
		require.NoError(t, err)
		f.Data = bytes.Clone(f.Data)
		fs = append(fs, got{f, r.Interface()})
		require.Equal(t, uint64(len(fs)), r.Frames())
	}
}

func newReader(t testing.TB, b []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(b), "test", Options{})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// readBytes reads a capture held in memory.
func readBytes(t testing.TB, b []byte) ([]got, []Warning) {
	t.Helper()
	r := newReader(t, b)
	return readAll(t, r), r.Warnings()
}

func requireClean(t testing.TB, b []byte) []got {
	t.Helper()
	fs, ws := readBytes(t, b)
	require.Empty(t, ws)
	return fs
}

// requireDamage checks that exactly want frames come before one warning.
func requireDamage(t testing.TB, b []byte, want int, offset int, what string) {
	t.Helper()
	fs, ws := readBytes(t, b)
	require.Len(t, fs, want)
	require.Len(t, ws, 1)
	require.Equal(t, uint64(want+1), ws[0].Frame)
	require.Equal(t, int64(offset), ws[0].Offset)
	require.Contains(t, ws[0].What, what)
}

// onlyReader hides every method but Read.
type onlyReader struct{ io.Reader }
