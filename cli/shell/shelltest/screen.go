package shelltest

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Screen is a terminal as a person sees it: a grid of characters and a cursor,
// moved by the control sequences of a VT100 that editors and full-screen
// programs use. Others are ignored. Not safe for use by two goroutines.
type Screen struct {
	width, height int
	cells         [][]rune
	x, y          int
	wrap          bool // the last column was written: the next character goes below
	rest          []byte
	main          [][]rune // what the alternate screen covers; nil: none is shown
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen {
	s := &Screen{}
	s.Resize(width, height)
	return s
}

// Resize cuts or extends the grid at the right and the bottom; what does not
// fit above the cursor scrolls off the top.
func (s *Screen) Resize(width, height int) {
	for s.y >= height {
		s.cells = s.cells[1:]
		s.y--
	}
	cells := make([][]rune, height)
	for i := range cells {
		cells[i] = blank(width)
		if i < len(s.cells) {
			copy(cells[i], s.cells[i])
		}
	}
	s.cells, s.width, s.height = cells, width, height
	s.x, s.wrap = min(s.x, width-1), false
}

func blank(width int) []rune {
	l := make([]rune, width)
	for i := range l {
		l[i] = ' '
	}
	return l
}

// Lines are the rows without blanks at their ends and without empty ones at the
// bottom.
func (s *Screen) Lines() []string {
	out := make([]string, s.height)
	n := 0
	for i, l := range s.cells {
		out[i] = strings.TrimRight(string(l), " ")
		if out[i] != "" {
			n = i + 1
		}
	}
	return out[:n]
}

// String is the lines, each with a newline.
func (s *Screen) String() string { return strings.Join(s.Lines(), "\n") + "\n" }

// Cursor is the column and row of the cursor, from 0.
func (s *Screen) Cursor() (x, y int) { return s.x, s.y }

// Write shows what a program sent.
func (s *Screen) Write(p []byte) (int, error) {
	b := append(s.rest, p...)
	for len(b) > 0 {
		n := s.one(b)
		if n == 0 {
			break
		}
		b = b[n:]
	}
	s.rest = append([]byte(nil), b...)
	return len(p), nil
}

// one handles the character or sequence that b begins with; 0: it is not whole.
func (s *Screen) one(b []byte) int {
	switch c := b[0]; {
	case c == 0x1b:
		return s.escape(b)
	case c == '\r':
		s.x, s.wrap = 0, false
	case c == '\n':
		s.down()
	case c == '\b':
		s.x, s.wrap = max(0, s.x-1), false
	case c < ' ' || c == 0x7f:
	default:
		if !utf8.FullRune(b) {
			return 0
		}
		r, n := utf8.DecodeRune(b)
		s.put(r)
		return n
	}
	return 1
}

func (s *Screen) put(r rune) {
	if s.wrap {
		s.x = 0
		s.down()
	}
	s.cells[s.y][s.x] = r
	if s.x == s.width-1 {
		s.wrap = true
		return
	}
	s.x++
}

func (s *Screen) down() {
	s.wrap = false
	if s.y++; s.y == s.height {
		s.y--
		s.cells = append(s.cells[1:], blank(s.width))
	}
}

func (s *Screen) escape(b []byte) int {
	if len(b) == 1 {
		return 0
	}
	if b[1] != '[' {
		return 2
	}
	for i := 2; i < len(b); i++ {
		if b[i] == 0x1b { // another sequence begins: this one was cut
			return i
		}
		if b[i] >= 0x40 && b[i] <= 0x7e {
			s.control(string(b[2:i]), b[i])
			return i + 1
		}
	}
	return 0
}

func (s *Screen) control(args string, final byte) {
	if private, ok := strings.CutPrefix(args, "?"); ok {
		if private == "1049" {
			s.alternate(final == 'h')
		}
		return
	}
	first, second, _ := strings.Cut(args, ";")
	n, _ := strconv.Atoi(first)
	m, _ := strconv.Atoi(second)
	switch final {
	case 'A':
		s.y = max(0, s.y-max(1, n))
	case 'B':
		s.y = min(s.height-1, s.y+max(1, n))
	case 'C':
		s.x = min(s.width-1, s.x+max(1, n))
	case 'D':
		s.x = max(0, s.x-max(1, n))
	case 'H':
		s.y, s.x = min(s.height, max(1, n))-1, min(s.width, max(1, m))-1
	case 'J':
		s.erase(n)
		return
	case 'K':
		copy(s.cells[s.y][s.x:], blank(s.width-s.x))
		return
	default:
		return
	}
	s.wrap = false
}

func (s *Screen) erase(how int) {
	from := s.y + 1
	if how == 2 {
		from = 0
	} else {
		copy(s.cells[s.y][s.x:], blank(s.width-s.x))
	}
	for i := from; i < s.height; i++ {
		s.cells[i] = blank(s.width)
	}
}

func (s *Screen) alternate(on bool) {
	switch {
	case on && s.main == nil:
		s.main = s.cells
		s.cells = nil
		for range s.height {
			s.cells = append(s.cells, blank(s.width))
		}
	case !on && s.main != nil:
		s.cells, s.main = s.main, nil
		s.Resize(s.width, s.height)
	}
}
