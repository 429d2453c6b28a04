package capture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// timed is a capture of frames with these times in seconds, each holding its
// input and number.
func timed(input byte, times ...uint32) []byte {
	e := (&enc{}).pcapHead(0xa1b2c3d4, 1)
	for i, s := range times {
		e.rec(s, 0, []byte{input, byte(i >> 8), byte(i)})
	}
	return e.b
}

type merged struct {
	Origin
	TS int64
}

func mergeAll(t require.TestingT, m *Merge) (out []merged) {
	var f packet.Frame
	for {
		o, err := m.Next(&f)
		if err == io.EOF {
			_, err = m.Next(&f)
			require.Equal(t, io.EOF, err)
			return out
		}
		require.NoError(t, err)
		require.Equal(t, byte(o.Input), f.Data[0])
		require.Equal(t, uint16(o.Frame-1), binary.BigEndian.Uint16(f.Data[1:]))
		out = append(out, merged{o, f.TS / second})
	}
}

func readers(t testing.TB, files ...[]byte) (rs []*Reader) {
	for _, b := range files {
		rs = append(rs, newReader(t, b))
	}
	return rs
}

func TestMergeOrder(t *testing.T) {
	m := NewMerge(readers(t, timed(0, 1, 3, 3, 9), timed(1), timed(2, 1, 2, 3, 10), timed(3, 3))...)
	require.Equal(t, []merged{
		{Origin{0, 1}, 1}, {Origin{2, 1}, 1}, {Origin{2, 2}, 2},
		{Origin{0, 2}, 3}, {Origin{0, 3}, 3}, {Origin{2, 3}, 3}, {Origin{3, 1}, 3},
		{Origin{0, 4}, 9}, {Origin{2, 4}, 10},
	}, mergeAll(t, m))
	first, last, ok := m.Span()
	require.True(t, ok)
	require.Equal(t, [2]int64{1e9, 10e9}, [2]int64{first, last})
	require.Len(t, m.Readers(), 4)
}

// A frame older than its predecessor is placed right behind it, with its own
// time.
func TestMergeNeverGoesBackInOneInput(t *testing.T) {
	m := NewMerge(readers(t, timed(0, 5, 2, 6), timed(1, 1, 4, 5, 7))...)
	require.Equal(t, []merged{
		{Origin{1, 1}, 1}, {Origin{1, 2}, 4},
		{Origin{0, 1}, 5}, {Origin{0, 2}, 2}, {Origin{1, 3}, 5},
		{Origin{0, 3}, 6}, {Origin{1, 4}, 7},
	}, mergeAll(t, m))
	first, last, _ := m.Span()
	require.Equal(t, [2]int64{1e9, 7e9}, [2]int64{first, last})
}

// The heap against a stable sort.
func TestMergeTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		inputs := rapid.SliceOfN(rapid.SliceOfN(rapid.Uint32Range(0, 30), 0, 40), 0, 9).Draw(rt, "times")
		type place struct {
			when uint32
			merged
		}
		var want []place
		var rs []*Reader
		for i, times := range inputs {
			r, err := NewReader(bytes.NewReader(timed(byte(i), times...)), "twin", Options{})
			require.NoError(rt, err)
			rs = append(rs, r)
			var when uint32
			for n, s := range times {
				when = max(when, s)
				want = append(want, place{when, merged{Origin{i, uint64(n + 1)}, int64(s)}})
			}
		}
		slices.SortStableFunc(want, func(a, b place) int { return int(a.when) - int(b.when) })
		got := mergeAll(rt, NewMerge(rs...))
		require.Len(rt, got, len(want))
		for i := range want {
			require.Equal(rt, want[i].merged, got[i], "place %d", i)
		}
	})
}

func TestMergeOfNothing(t *testing.T) {
	m := NewMerge()
	require.Empty(t, mergeAll(t, m))
	_, _, ok := m.Span()
	require.False(t, ok)
	m = NewMerge(readers(t, timed(0), timed(1))...)
	require.Empty(t, mergeAll(t, m))
	require.NoError(t, m.Close())
}

func TestMergeRewind(t *testing.T) {
	m := NewMerge(readers(t, timed(0, 5, 2, 6), timed(1, 1, 4))...)
	want := mergeAll(t, m)
	for range 2 {
		require.NoError(t, m.Rewind())
		var f packet.Frame
		_, err := m.Next(&f)
		require.NoError(t, err)
		require.NoError(t, m.Rewind())
		require.Equal(t, want, mergeAll(t, m))
	}
	first, last, _ := m.Span()
	require.Equal(t, [2]int64{1e9, 6e9}, [2]int64{first, last})

	r, err := NewReader(onlyReader{bytes.NewReader(timed(0, 1))}, "socket", Options{})
	require.NoError(t, err)
	m = NewMerge(r)
	require.ErrorContains(t, m.Rewind(), "rewind capture: socket: cannot be read twice")
	_, err = m.Next(&packet.Frame{})
	require.ErrorContains(t, err, "cannot be read twice")
}

// What lies before the failure in the order comes first; what lies behind it is
// not known to be next.
func TestMergeSourceFailure(t *testing.T) {
	boom := errors.New("boom")
	bad, err := NewReader(io.MultiReader(bytes.NewReader(timed(1, 2, 4)), iotest.ErrReader(boom)), "bad", Options{})
	require.NoError(t, err)
	m := NewMerge(newReader(t, timed(0, 1, 3, 5)), bad)
	b := NewBatch(64, 0)
	n, err := m.Fill(b)
	require.NoError(t, err)
	require.Equal(t, 4, n)
	for range 2 {
		n, err = m.Fill(b)
		require.ErrorIs(t, err, boom)
		require.Zero(t, n)
		require.Empty(t, b.Frames)
	}
}

func TestMergeKeepsWarningsOfItsReaders(t *testing.T) {
	cut := timed(0, 1, 2)
	rs := readers(t, cut[:len(cut)-1], timed(1, 1, 3))
	m := NewMerge(rs...)
	require.Len(t, mergeAll(t, m), 3)
	require.Len(t, m.Readers()[0].Warnings(), 1)
	require.Empty(t, m.Readers()[1].Warnings())
}
