// Package config reads the YAML configuration: strict, with a position for
// every value, and with one table of keys from which decoding, defaults, the
// example, the suggestions and the reference page all derive.
package config

import (
	"fmt"
	"sort"
	"strings"
)

// Pos is a place in a configuration: line and column from 1 (columns count
// characters), and the offending text. Line 0 means no place in the file.
type Pos struct {
	Line, Col int
	Text      string
}

// Problem is one mistake: where, what is wrong, and what to write instead.
type Problem struct {
	File string
	Pos
	What    string
	Instead string
	Source  string // the line of the file, without its end; "" when there is none
}

// String is the error line without the program's name:
// FILE:LINE:COL: text: what is wrong: what to write instead.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
	}
	for _, s := range []string{shorten(p.Text), escape(p.What), escape(p.Instead)} {
		if s != "" {
			b.WriteString(": ")
			b.WriteString(s)
		}
	}
	return b.String()
}

// Error holds everything found wrong with a configuration, at least one
// problem. The first is the error line.
type Error struct{ Problems []Problem }

// Error is one line: `config: FILE:LINE:COL: text: what: instead`.
func (e *Error) Error() string { return "config: " + e.Problems[0].String() }

// Detail shows the source line of the first problem with a caret below the
// place, or "" when the problem has no place.
func (e *Error) Detail() string {
	p := e.Problems[0]
	if p.Line == 0 || p.Source == "" {
		return ""
	}
	var pad strings.Builder
	for i, r := range []rune(p.Source) {
		if i >= p.Col-1 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		pad.WriteRune(r)
	}
	return p.Source + "\n" + pad.String() + "^\n"
}

// shorten makes s fit into an error line: at most 60 characters, escaped.
func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:57]) + "..."
	}
	return escape(s)
}

// escape keeps s on one line and off the terminal's controls.
func escape(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c < 0x20 || c == 0x7f || c == 0x85 || c == 0x2028 || c == 0x2029 {
			fmt.Fprintf(&b, "\\x%02x", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// list collects problems of one file.
type list struct {
	file  string
	lines []string
	all   []Problem
}

// maxProblems bounds the list: a wholly different file is not explained line by line.
const maxProblems = 1000

func (l *list) bad(p Pos, what, instead string) {
	if len(l.all) >= maxProblems {
		return
	}
	q := Problem{File: l.file, Pos: p, What: what, Instead: instead}
	if p.Line > 0 && p.Line <= len(l.lines) {
		q.Source = l.lines[p.Line-1]
	}
	l.all = append(l.all, q)
}

func (l *list) badf(p Pos, instead, format string, args ...any) {
	l.bad(p, fmt.Sprintf(format, args...), instead)
}

// sortFrom orders the problems from index i on by their place.
func (l *list) sortFrom(i int) {
	s := l.all[i:]
	sort.SliceStable(s, func(a, b int) bool {
		if s[a].Line != s[b].Line {
			return s[a].Line < s[b].Line
		}
		return s[a].Col < s[b].Col
	})
}

// err returns the problems as an *Error, nil when there are none.
func (l *list) err() error {
	if len(l.all) == 0 {
		return nil
	}
	return &Error{Problems: l.all}
}
