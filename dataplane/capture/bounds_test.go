package capture

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// cycle repeats a part of a file for ever.
type cycle struct {
	head, body []byte
	at         int
}

func (c *cycle) Read(p []byte) (n int, err error) {
	if len(c.head) > 0 {
		n = copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	for n < len(p) {
		m := copy(p[n:], c.body[c.at:])
		c.at = (c.at + m) % len(c.body)
		n += m
	}
	return n, nil
}

// endless are captures without end of every format and kind of packet block.
func endless() map[string]*cycle {
	ng := func(big bool, f func(e *enc)) *cycle {
		body := &enc{big: big}
		f(body)
		return &cycle{head: (&enc{big: big}).shb().idb(1, 0).b, body: body.b}
	}
	data := make([]byte, 60)
	little, bigEnd := &enc{}, &enc{big: true}
	for i := range uint32(50) {
		little.rec(i, i, data)
		bigEnd.rec(i, i, data[:i])
	}
	return map[string]*cycle{
		"pcap":     {head: (&enc{}).pcapHead(0xa1b2c3d4, 1).b, body: little.b},
		"pcap big": {head: (&enc{big: true}).pcapHead(0xa1b23c4d, 1).b, body: bigEnd.b},
		"unknown":  {head: (&enc{}).pcapHead(0xa1b2c3d4, 147).b, body: little.b},
		"EPB": ng(le, func(e *enc) {
			e.epb(0, 1, data, e.opt32(epbFlags, 1), e.opt32(epbQueue, 1), e.opt(optComment, data))
		}),
		"EPB big":  ng(be, func(e *enc) { e.epb(0, 1, data).block(5, data) }),
		"SPB":      ng(le, func(e *enc) { e.spb(60, data) }),
		"sections": ng(le, func(e *enc) { e.shb().idb(1, 0).spb(60, data) }),
	}
}

// TestAllocations: reading and merging allocate nothing per frame. Sections
// allocate, per interface described.
func TestAllocations(t *testing.T) {
	for name, c := range endless() {
		if name == "sections" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(c, name, Options{})
			require.NoError(t, err)
			var f packet.Frame
			step := func() {
				for range 1000 {
					if err := r.Next(&f); err != nil {
						t.Fatal(err)
					}
				}
			}
			step()
			require.Zero(t, testing.AllocsPerRun(20, step))
		})
	}
	t.Run("merge", func(t *testing.T) {
		var rs []*Reader
		for name, c := range endless() {
			if name == "sections" {
				continue
			}
			r, err := NewReader(c, name, Options{})
			require.NoError(t, err)
			rs = append(rs, r)
		}
		m, b := NewMerge(rs...), NewBatch(64, 0)
		step := func() {
			for range 50 {
				if _, err := m.Fill(b); err != nil {
					t.Fatal(err)
				}
			}
		}
		step()
		require.Zero(t, testing.AllocsPerRun(20, step))
	})
	t.Run("writers", func(t *testing.T) {
		p, err := NewPcapWriter(io.Discard, 1)
		require.NoError(t, err)
		w, err := NewNGWriter(io.Discard, "")
		require.NoError(t, err)
		f := packet.Frame{Data: make([]byte, 1500), Link: 1, HasQueue: true, Dir: packet.DirIn}
		step := func() {
			id, err := w.Interface("eth0", 1)
			if err != nil || w.Write(id, &f, "NO_SOCKET") != nil || p.Write(&f) != nil {
				t.Fatal("write failed")
			}
		}
		step()
		require.Zero(t, testing.AllocsPerRun(1000, step))
	})
}

// allocated is what f allocates in total, in bytes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Lengths that a file declares cost nothing: the buffer stays below bufMax.
func TestDeclaredLengthsCostNoMemory(t *testing.T) {
	tail := make([]byte, 1<<20)
	for name, b := range map[string][]byte{
		"record":    (&enc{}).pcapHead(0xa1b2c3d4, 1).u32(0, 0, 0xffffffff, 0xffffffff).u8(tail...).b,
		"big":       (&enc{big: true}).pcapHead(0xa1b2c3d4, 1).u32(0, 0, 0x7fffffff, 0x7fffffff).u8(tail...).b,
		"largest":   (&enc{}).pcapHead(0xa1b2c3d4, 1).u32(0, 0, MaxRecord, 0).u8(tail[:9]...).b,
		"block":     (&enc{}).shb().u32(9, 0xfffffffc).u8(tail...).b,
		"interface": (&enc{}).shb().u32(1, 0xfffffffc).u8(tail...).b,
		"packet":    (&enc{}).shb().idb(1, 0).u32(6, 0xfffffffc, 0, 0, 0, 0xfffffff0, 9).u8(tail...).b,
		"simple":    (&enc{}).shb().idb(1, 0).u32(3, 0xfffffffc, 0xfffffff0, 9).u8(tail...).b,
		"section":   (&enc{}).u32(blockSHB, 0xfffffffc, orderMagic).u16(1).u16(0).u32(0, 0).u8(tail...).b,
	} {
		t.Run(name, func(t *testing.T) {
			n := allocated(func() {
				r, err := NewReader(bytes.NewReader(b), name, Options{})
				require.NoError(t, err)
				require.Equal(t, io.EOF, r.Next(&packet.Frame{}))
				require.Len(t, r.Warnings(), 1)
			})
			require.Less(t, n, uint64(bufStart+bufMax+64<<10))
		})
	}
}

// 64 MiB of hostile and ordinary streams through a pipe, in bounded memory.
func TestLongStreamsInBoundedMemory(t *testing.T) {
	const size = 64 << 20
	for name, c := range endless() {
		t.Run(name, func(t *testing.T) {
			rd, wr := io.Pipe()
			go func() {
				_, err := io.CopyN(wr, c, size)
				wr.CloseWithError(err)
			}()
			var r *Reader
			n := allocated(func() {
				var err error
				r, err = NewReader(rd, name, Options{})
				require.NoError(t, err)
				var f packet.Frame
				for err = r.Next(&f); err == nil; err = r.Next(&f) {
				}
				require.Equal(t, io.EOF, err)
			})
			require.Equal(t, int64(size), r.s.base+int64(r.s.w))
			require.Greater(t, r.Frames(), uint64(200_000))
			limit := uint64(2 << 20)
			if name == "sections" { // a map key per interface described; nothing is kept
				limit = 64 << 20
			}
			require.Less(t, n, limit)
			require.LessOrEqual(t, len(r.s.buf), bufMax)
			require.Len(t, r.Interfaces(), 1)
		})
	}
}

// Random bytes behind a proper start: the fuzz property on every test run.
func TestRandomCaptures(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		b := sampleNG(20)
		if rng.IntN(2) == 0 {
			b = samplePcap(20)
		}
		for range rng.IntN(8) {
			b[24+rng.IntN(len(b)-24)] = byte(rng.Uint32())
		}
		fuzzReader(t, b[:24+rng.IntN(len(b)-24)])
	}
}
