package capture

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// drain reads a hostile capture to its end and checks what holds for every
// input: it ends, in few steps, within its bounds, and says so at most once.
func drain(t *testing.T, r *Reader, size int) (frames []packet.Frame) {
	bytesSeen := 0
	for steps := 0; ; steps++ {
		require.LessOrEqual(t, steps, size, "more frames than bytes")
		var f packet.Frame
		err := r.Next(&f)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.LessOrEqual(t, len(f.Data), MaxRecord)
		require.Less(t, r.Interface(), len(r.Interfaces()))
		require.Equal(t, r.Interfaces()[r.Interface()].LinkType, f.Link)
		if f.TS > maxTS || f.TS < -maxTS {
			t.Fatalf("time %d", f.TS)
		}
		bytesSeen += len(f.Data)
		f.Data = bytes.Clone(f.Data)
		frames = append(frames, f)
	}
	require.LessOrEqual(t, bytesSeen, size)
	require.LessOrEqual(t, len(r.s.buf), bufMax)
	require.LessOrEqual(t, len(r.Warnings()), maxLinkWarnings+1)
	for _, w := range r.Warnings() {
		require.LessOrEqual(t, w.Frame, uint64(len(frames)+1))
		require.LessOrEqual(t, w.Offset, int64(size))
	}
	return frames
}

// fuzzReader reads b in several ways, which must agree, and writes what it read.
func fuzzReader(t *testing.T, b []byte) {
	if len(b) >= 4 && (b[0] == 0x1f && b[1] == 0x8b || b[0] == 0x28 && b[1] == 0xb5) {
		return // packed: what comes out of it has no bound that depends on len(b)
	}
	r, err := NewReader(bytes.NewReader(b), "fuzz", Options{})
	if err != nil {
		require.ErrorIs(t, err, ErrNotCapture)
		return
	}
	defer r.Close()
	frames := drain(t, r, len(b))
	warnings := append([]Warning(nil), r.Warnings()...)
	require.NoError(t, r.Rewind())
	require.Equal(t, frames, drain(t, r, len(b)), "second pass")
	require.Equal(t, warnings, append([]Warning(nil), r.Warnings()...))

	half, err := NewReader(iotest.HalfReader(bytes.NewReader(b)), "fuzz", Options{})
	require.NoError(t, err)
	defer half.Close()
	require.Equal(t, frames, drain(t, half, len(b)), "in other portions")
	require.Equal(t, warnings, append([]Warning(nil), half.Warnings()...))
	rewrite(t, frames)
}

// rewrite writes frames as pcapng and reads them back.
func rewrite(t *testing.T, frames []packet.Frame) {
	var out bytes.Buffer
	w, err := NewNGWriter(&out, "fuzz")
	require.NoError(t, err)
	for i := range frames {
		id, err := w.Interface("", frames[i].Link)
		require.NoError(t, err)
		require.NoError(t, w.Write(id, &frames[i], "comment"))
	}
	require.NoError(t, w.Flush())
	back := newReader(t, out.Bytes())
	for i, f := range readAll(t, back) {
		want := frames[i]
		want.TS = max(want.TS, 0)
		want.WireLen = max(want.WireLen, uint32(len(want.Data)))
		require.True(t, bytes.Equal(want.Data, f.Data))
		want.Data = f.Data
		require.Equal(t, want, f.Frame)
	}
	require.Equal(t, uint64(len(frames)), back.Frames())
}

func FuzzPcap(f *testing.F) {
	for _, magic := range []uint32{0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34} {
		for _, big := range []bool{le, be} {
			e := (&enc{big: big}).pcapHead(magic, 1|1<<26)
			f.Add(e.rec(1, 2, []byte("abc")).rec(3, 4, nil).rec(5, 6, make([]byte, 70)).b)
		}
	}
	f.Add((&enc{}).u32(0xa1b2c3d4).u16(2).u16(3).u32(0, 0, 0, 147, 1, 2, 9, 3).u8(1, 2, 3).b)
	f.Add((&enc{}).pcapHead(0xa1b2c3d4, 1).u32(1, 2, MaxRecord, 0).u8(1, 2, 3).b)
	f.Add((&enc{}).pcapHead(0xa1b2c3d4, 1).u32(1, 2, 0xffffffff, 0).b)
	f.Fuzz(fuzzReader)
}

func FuzzPcapng(f *testing.F) {
	for _, big := range []bool{le, be} {
		o := &enc{big: big}
		e := (&enc{big: big}).shb().idb(1, 0, named(o, "eth0"), o.opt(ifTsresol, []byte{9})).
			idb(147, 5, o.opt(ifTsresol, []byte{0x8a}), o.opt(ifTsoffset, make([]byte, 8))).
			epb(0, 1<<33, []byte("abc"), o.opt32(epbFlags, 9), o.opt32(epbQueue, 2)).
			epb(1, 7, []byte("d"), o.opt(optComment, []byte("hi"))).
			spb(4, []byte("four")).
			block(blockPB, (&enc{big: big}).u16(1).u16(0).u32(0, 1, 2, 2).u8(1, 2).pad().b).
			block(5, make([]byte, 12))
		f.Add(e.b)
		f.Add(append(e.b, (&enc{big: !big}).shb().idb(113, 0).spb(2, []byte("xy")).b...))
	}
	f.Add((&enc{}).shb().u32(6, 0xfffffffc, 0, 0, 0, 4, 4).b)
	f.Add((&enc{}).shb().u32(9, 0xfffffffc).b)
	f.Fuzz(fuzzReader)
}
