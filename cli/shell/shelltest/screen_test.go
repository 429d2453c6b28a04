package shelltest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScreen(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
		x, y int
	}{
		{"abc", []string{"abc"}, 3, 0},
		{"abcdefghij", []string{"abcdefghij"}, 9, 0}, // the cursor waits at the edge
		{"abcdefghijk", []string{"abcdefghij", "k"}, 1, 1},
		{"abcdefghij\r\nk", []string{"abcdefghij", "k"}, 1, 1},
		{"a\r\nb\r\nc\r\nd", []string{"b", "c", "d"}, 1, 2}, // scrolled
		{"abc\rx\b\by", []string{"ybc"}, 1, 0},
		{"abc\x1b[2DX\x1b[K", []string{"aX"}, 2, 0},
		{"a\r\nb\x1b[Ac\x1b[Bd", []string{"ac", "b d"}, 3, 1},
		{"abc\x1b[2J\x1b[Hx", []string{"x"}, 1, 0},
		{"a\r\nb\r\nc\x1b[2;1H\x1b[J", []string{"a"}, 0, 1},
		{"\x1b[?2004h\x1b[1mä\x1b[0m", []string{"ä"}, 1, 0},
		{"one\x1b[?1049htwo\x1b[?1049l", []string{"one"}, 6, 0},
		{"a\x1b[\x1b[Db", []string{"b"}, 1, 0}, // a sequence that was cut
	} {
		whole, parts := NewScreen(10, 3), NewScreen(10, 3)
		_, _ = whole.Write([]byte(c.in))
		for i := range len(c.in) {
			_, _ = parts.Write([]byte(c.in[i : i+1]))
		}
		require.Equal(t, c.want, whole.Lines(), "%q", c.in)
		require.Equal(t, c.want, parts.Lines(), "%q byte by byte", c.in)
		x, y := whole.Cursor()
		require.Equal(t, [2]int{c.x, c.y}, [2]int{x, y}, "%q", c.in)
	}
}

func TestScreenResize(t *testing.T) {
	s := NewScreen(10, 3)
	_, _ = s.Write([]byte("a\r\nb\r\nlonger"))
	s.Resize(4, 2)
	require.Equal(t, []string{"b", "long"}, s.Lines())
	s.Resize(20, 10)
	_, _ = s.Write([]byte("!"))
	require.Equal(t, []string{"b", "lon!"}, s.Lines())
}

func FuzzScreen(f *testing.F) {
	f.Add([]byte("a\x1b[9;9Hb\x1b[Jc\x1b[?1049hd"), 3, 3)
	f.Fuzz(func(t *testing.T, in []byte, w, h int) {
		s := NewScreen(1+min(200, max(0, w)), 1+min(100, max(0, h)))
		_, _ = s.Write(in)
		s.Resize(7, 3)
		_, _ = s.Write(in)
		require.LessOrEqual(t, len(s.Lines()), 3)
	})
}
