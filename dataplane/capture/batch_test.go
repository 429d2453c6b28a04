package capture

import (
	"bytes"
	"io"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// Fill yields what Next yields, for every size of batch.
func TestFillIsNext(t *testing.T) {
	ng := (&enc{big: true}).shb().idb(113, 0).idb(1, 0)
	for i := range uint32(400) {
		ng.epb(i%2, uint64(i)*700_000, bytes.Repeat([]byte{byte(i)}, int(i*7%900)), ng.opt32(epbFlags, i%3), ng.opt32(epbQueue, i%5))
	}
	files := [][]byte{samplePcap(300), ng.b, gz(t, samplePcap(100))}
	type item struct {
		Origin
		packet.Frame
	}
	var want []item
	m := NewMerge(readers(t, files...)...)
	for {
		var f packet.Frame
		o, err := m.Next(&f)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		f.Data = bytes.Clone(f.Data)
		want = append(want, item{o, f})
	}
	require.Len(t, want, 800)
	for _, size := range []int{-1, 1, 2, 3, 7, 64, 1000} {
		m := NewMerge(readers(t, files...)...)
		b := NewBatch(size, 0)
		var got []item
		for {
			n, err := m.Fill(b)
			if err == io.EOF {
				require.Zero(t, n)
				break
			}
			require.NoError(t, err)
			require.Positive(t, n)
			require.Len(t, b.Frames, n)
			require.Len(t, b.Origins, n)
			for i, f := range b.Frames {
				f.Data = bytes.Clone(f.Data)
				got = append(got, item{b.Origins[i], f})
			}
		}
		require.Len(t, got, len(want))
		for i := range want {
			require.True(t, bytes.Equal(want[i].Data, got[i].Data), "batches of %d, frame %d", size, i)
			got[i].Data = want[i].Data
		}
		require.Equal(t, want, got)
	}
}

// A full arena ends a batch early; the frame that did not fit opens the next.
func TestFillBoundsTheArena(t *testing.T) {
	e := (&enc{}).pcapHead(0xa1b2c3d4, 1)
	sizes := []int{MaxRecord, 1, MaxRecord, 100_000, 100_000, 62_144, 0, 0, 1}
	for i, n := range sizes {
		e.rec(uint32(i), 0, bytes.Repeat([]byte{byte(i)}, n))
	}
	m := NewMerge(newReader(t, e.b))
	b := NewBatch(64, 0)
	arena := cap(b.arena)
	var filled []int
	seen := 0
	for {
		n, err := m.Fill(b)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		filled = append(filled, n)
		for i, f := range b.Frames {
			require.Equal(t, uint64(seen+1), b.Origins[i].Frame)
			require.Len(t, f.Data, sizes[seen])
			require.Equal(t, sizes[seen], bytes.Count(f.Data, []byte{byte(seen)}))
			require.Equal(t, len(f.Data), cap(f.Data), "appending cannot reach the next frame")
			seen++
		}
	}
	require.Equal(t, []int{1, 1, 1, 5, 1}, filled)
	require.Equal(t, arena, cap(b.arena))
}

// Two batches in turn, as a reader that runs ahead of the engine uses them.
func TestBatchesDoNotShare(t *testing.T) {
	m := NewMerge(newReader(t, samplePcap(300)))
	a, b := NewBatch(50, 0), NewBatch(50, 0)
	_, err := m.Fill(a)
	require.NoError(t, err)
	_, err = m.Fill(b)
	require.NoError(t, err)
	for i, f := range a.Frames {
		require.Equal(t, bytes.Repeat([]byte{byte(i)}, i%97), append([]byte{}, f.Data...))
	}
}
