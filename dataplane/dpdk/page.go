package dpdk

import (
	"fmt"
	"strconv"
	"strings"
)

// Field is one named value of a telemetry answer: uint64, string, []uint64,
// []string or []Field.
type Field struct {
	Name  string
	Value any
}

// Command is one telemetry command. Answer gets exactly Args parameters, all
// that stands between the commas after the path; an error becomes the answer's
// only field, "error".
type Command struct {
	Path, Help string
	Args       int
	Answer     func(args []string) ([]Field, error)
}

// Limits of DPDK's telemetry: a dictionary, an array, a name or string, and the
// answer's text. Ours are lower by what page numbers and braces need.
const (
	telFields = 240
	telArray  = 500
	telString = 126
	telBytes  = 14 << 10
)

// telName spells a name with the characters that telemetry lets pass (letters,
// digits, _ and /).
func telName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '/' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 60)]
}

// telText keeps a string printable and short enough.
func telText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, s)
	return s[:min(len(s), telString)]
}

// weight is the most bytes of JSON that f makes.
func weight(f Field) int {
	w := len(telName(f.Name)) + 6
	switch v := f.Value.(type) {
	case uint64:
		return w + len(strconv.FormatUint(v, 10))
	case string:
		return w + len(telText(v)) + 4
	case []uint64:
		for _, n := range v {
			w += len(strconv.FormatUint(n, 10)) + 2
		}
	case []string:
		for _, s := range v {
			w += len(telText(s)) + 4
		}
	case []Field:
		for _, g := range v {
			w += weight(g)
		}
	}
	return w + 4
}

// pages cuts an answer into pieces that DPDK can send, never inside a field.
func pages(fields []Field) (out [][]Field) {
	start, size := 0, 0
	for i, f := range fields {
		w := weight(f)
		if i > start && (size+w > telBytes || i-start == telFields) {
			out = append(out, fields[start:i])
			start, size = i, 0
		}
		size += w
	}
	return append(out, fields[start:])
}

// run answers params: the command's own arguments, then, if one more stands
// there, the number of a page from 1. An answer of several pages says so in its
// fields "page" and "pages".
func (c *Command) run(params string) []Field {
	var args []string
	if params != "" {
		args = strings.Split(params, ",")
	}
	page := 1
	if len(args) == c.Args+1 {
		n, err := strconv.Atoi(args[c.Args])
		if err != nil || n < 1 {
			return []Field{{"error", fmt.Sprintf("%s: page %q: want a number from 1", c.Path, args[c.Args])}}
		}
		page, args = n, args[:c.Args]
	}
	if len(args) != c.Args {
		return []Field{{"error", fmt.Sprintf("%s: %d parameters: want %d, then a page", c.Path, len(args), c.Args)}}
	}
	fields, err := c.Answer(args)
	if err != nil {
		return []Field{{"error", err.Error()}}
	}
	all := pages(fields)
	if page > len(all) {
		return []Field{{"error", fmt.Sprintf("%s: page %d: there are %d", c.Path, page, len(all))}}
	}
	if len(all) == 1 {
		return all[0]
	}
	return append([]Field{{"page", uint64(page)}, {"pages", uint64(len(all))}}, all[page-1]...)
}
