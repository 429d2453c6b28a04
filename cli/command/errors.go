package command

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a mistake in a line.
type Error struct {
	Line string
	Pos  int // byte offset of the offending word, len(Line) at the end
	Len  int // its length in bytes
	Msg  string
}

// Error is one line; the column counts characters from 1.
func (e *Error) Error() string {
	return "column " + strconv.Itoa(e.Col()) + ": " + e.Msg
}

// Col is the column of the mistake in characters, from 1.
func (e *Error) Col() int { return column(e.Line, e.Pos) }

// Caret is the line and below it marks under the mistake.
func (e *Error) Caret() string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '.'
		}
		return r
	}
	n := max(1, len([]rune(e.Line[e.Pos:e.Pos+e.Len])))
	return strings.Map(clean, e.Line) + "\n" + strings.Repeat(" ", e.Col()-1) + strings.Repeat("^", n)
}

func column(line string, pos int) int { return len([]rune(line[:pos])) + 1 }

func fail(line string, t token, format string, args ...any) *Error {
	return &Error{Line: line, Pos: t.pos, Len: t.end - t.pos, Msg: fmt.Sprintf(format, args...)}
}

// nearest is the word of list within two edits of w and closest to it, or "".
func nearest(w string, list []string) string {
	best, at := "", min(2, len(w)/2)+1
	for _, l := range list {
		if d := distance(w, l); d < at {
			best, at = l, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and exchanges of
// neighbours that turn a into b.
func distance(a, b string) int {
	if d := len(a) - len(b); d > 3 || d < -3 {
		return 4
	}
	older, old := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range old {
		old[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(old[j+1]+1, row[j]+1, old[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], older[j-1]+1)
			}
		}
		older, old = old, row
	}
	return old[len(b)]
}
