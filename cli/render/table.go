package render

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// column is a column of a table.
type column struct {
	name  string
	right bool // numbers
}

// table is text in columns. The names of columns begin with `>` when they hold
// numbers.
type table struct {
	cols []column
	rows [][]string
}

func newTable(names ...string) *table {
	t := &table{}
	for _, n := range names {
		name, right := strings.CutPrefix(n, ">")
		t.cols = append(t.cols, column{name, right})
	}
	return t
}

// row adds a row; cells are formatted as fmt.Sprint does, "" becomes "-".
func (t *table) row(cells ...any) {
	r := make([]string, len(t.cols))
	for i := range r {
		r[i] = clean(fmt.Sprint(cells[i]))
		if r[i] == "" {
			r[i] = "-"
		}
	}
	t.rows = append(t.rows, r)
}

// clean takes control characters out of what came over the socket: nothing may
// reach the terminal as a command to it.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return '.'
		}
		return r
	}, s)
}

// drop removes a column whose cells are all one of the given texts.
func (t *table) drop(name string, texts ...string) {
	at := -1
	for i, c := range t.cols {
		if c.name == name {
			at = i
		}
	}
	for _, r := range t.rows {
		same := false
		for _, x := range texts {
			same = same || r[at] == x
		}
		if !same {
			return
		}
	}
	t.cols = append(append([]column(nil), t.cols[:at]...), t.cols[at+1:]...)
	for i, r := range t.rows {
		t.rows[i] = append(append([]string(nil), r[:at]...), r[at+1:]...)
	}
}

func (t *table) widths() []int {
	w := make([]int, len(t.cols))
	for i, c := range t.cols {
		w[i] = utf8.RuneCountInString(c.name)
	}
	for _, r := range t.rows {
		for i, cell := range r {
			w[i] = max(w[i], utf8.RuneCountInString(cell))
		}
	}
	return w
}

// foldIndent sets off the second and later lines of a folded row.
const foldIndent = 4

// lines cuts the columns into as many lines as width asks for; 0 is any width.
// A gap of one column is tried before a second line.
func (t *table) lines(w []int, width int) (gap int, cuts []int) {
	for _, gap = range []int{2, 1} {
		total := -gap
		for _, n := range w {
			total += n + gap
		}
		if width == 0 || total <= width {
			return gap, []int{len(w)}
		}
	}
	gap = 2
	used := -gap
	for i, n := range w {
		if used > 0 && used+gap+n > width {
			cuts = append(cuts, i)
			used = foldIndent - gap
		}
		used += gap + n
	}
	return gap, append(cuts, len(w))
}

// write prints the table within width columns, 0 for any.
func (t *table) write(b *strings.Builder, width int) {
	w := t.widths()
	gap, cuts := t.lines(w, width)
	t.writeLines(b, w, gap, cuts)
}

// writeLines prints the columns as they were cut.
func (t *table) writeLines(b *strings.Builder, w []int, gap int, cuts []int) {
	head := make([]string, len(t.cols))
	for i, c := range t.cols {
		head[i] = c.name
	}
	for _, r := range append([][]string{head}, t.rows...) {
		from := 0
		for _, to := range cuts {
			line := ""
			if from > 0 {
				line = strings.Repeat(" ", foldIndent)
			}
			for i := from; i < to; i++ {
				pad := strings.Repeat(" ", w[i]-utf8.RuneCountInString(r[i]))
				if t.cols[i].right {
					line += pad + r[i]
				} else {
					line += r[i] + pad
				}
				line += strings.Repeat(" ", gap)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			from = to
		}
	}
}

// wrap breaks text into lines of at most width columns at blanks.
func wrap(text string, width int) (lines []string) {
	if width <= 0 {
		return []string{text}
	}
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

func writeAll(w io.Writer, b *strings.Builder) error {
	_, err := io.WriteString(w, b.String())
	return err
}
