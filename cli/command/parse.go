package command

import (
	"errors"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"edemux/dataplane/filter"
)

// match is a line laid over a Spec.
type match struct {
	line  string
	toks  []token // all words of the command
	spec  *Spec
	args  []token // by argument; end 0: absent
	flags map[string]token
	rest  []token // the words of a Rest argument
	next  int     // first argument that could still take a word
	doubt *Error  // why a skipped keyword may have been meant, if a later word does not fit
}

// Parse reads one command for ctl or the shell: no `watch`, no pipes. `--json`
// is accepted and dropped; use ParseLine to see it. The empty line gives nil.
func Parse(line string) (Command, error) {
	l, err := ParseLine(line)
	if err == nil && (l.Watch != 0 || l.Match != nil) {
		return nil, &Error{Line: line, Msg: "`watch` and pipes belong to the shell"}
	}
	return l.Command, err
}

// ParseLine reads a line of the shell: [watch [SECONDS]] COMMAND [| json]
// [| match RE]. Errors are *Error, with columns of line.
func ParseLine(line string) (Line, error) {
	var l Line
	toks := lex(line)
	for _, t := range toks {
		if t.open {
			return l, fail(line, t, "%s is not closed", opener(line[t.pos]))
		}
	}
	toks, pipes := splitPipes(toks)
	if err := l.readPipes(line, pipes); err != nil {
		return l, err
	}
	toks, err := l.readWatch(line, toks)
	if err != nil {
		return l, err
	}
	if len(toks) == 0 {
		if len(pipes) > 0 || l.Watch != 0 {
			return l, fail(line, endOf(line), "want a command")
		}
		return l, nil
	}
	l.Text = line[toks[0].pos:toks[len(toks)-1].end]
	spec, n, err := find(line, toks, InCtl|InShell)
	if err != nil {
		return l, err
	}
	m, err := lay(line, toks, spec, n)
	if err != nil {
		return l, err
	}
	if _, ok := m.flags["json"]; ok {
		l.JSON = true
	}
	l.Command, err = spec.build(m)
	return l, err
}

func opener(c byte) string {
	if c == '{' {
		return "`{`"
	}
	return "the quote"
}

func endOf(line string) token { return token{pos: len(line), end: len(line)} }

// splitPipes cuts at `|`. A filter's `||` stays: two bars with nothing between.
func splitPipes(toks []token) (cmd []token, pipes [][]token) {
	cur := &cmd
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if t.text != "|" || t.end-t.pos != 1 {
			*cur = append(*cur, t)
			continue
		}
		if i+1 < len(toks) && toks[i+1].text == "|" && toks[i+1].pos == t.end {
			*cur = append(*cur, token{text: "||", pos: t.pos, end: t.end + 1})
			i++
			continue
		}
		pipes = append(pipes, []token{t})
		cur = &pipes[len(pipes)-1]
	}
	return cmd, pipes
}

func (l *Line) readPipes(line string, pipes [][]token) error {
	for _, p := range pipes {
		if len(p) == 1 {
			return fail(line, p[0], "want `json` or `match RE` after `|`")
		}
		name := p[1]
		switch w, err := oneOf(line, name, "pipe", []string{"json", "match"}); {
		case err != nil:
			return err
		case w == "json" && len(p) > 2:
			return fail(line, p[2], "unexpected %q after json", p[2].text)
		case w == "json":
			l.JSON = true
		case len(p) != 3:
			return fail(line, name, "match: want one regular expression (in quotes when it has spaces)")
		case l.Match != nil:
			return fail(line, name, "match: only once")
		default:
			re, err := regexp.Compile(p[2].text)
			if err != nil {
				return fail(line, p[2], "match: %v", err)
			}
			l.Match = re
		}
	}
	return nil
}

// readWatch takes `watch`, with seconds or a time after it, off the front.
func (l *Line) readWatch(line string, toks []token) ([]token, error) {
	if len(toks) == 0 || toks[0].quoted || len(toks[0].text) < 1 || !strings.HasPrefix("watch", toks[0].text) {
		return toks, nil
	}
	l.Watch = time.Second
	if len(toks) == 1 {
		return nil, nil
	}
	n := toks[1]
	if n.text == "" || n.text[0] < '0' || n.text[0] > '9' {
		return toks[1:], nil
	}
	text := n.text
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 100*time.Millisecond || d > time.Hour {
		return nil, fail(line, n, "watch %s: want seconds from 0.1 to 3600", n.text)
	}
	l.Watch = d
	return toks[2:], nil
}

// find walks the words of the table by exact word or unique prefix and returns
// the spec and how many words of the line name it.
func find(line string, toks []token, where Where) (*Spec, int, error) {
	cand := specs(where)
	for i := 0; ; i++ {
		if len(cand) == 1 && len(cand[0].Path) == i {
			return cand[0], i, nil
		}
		words := wordsAt(cand, i)
		if i == len(toks) {
			return nil, 0, fail(line, endOf(line), "%s: want one of %s", cand[0].Path[i-1], strings.Join(words, ", "))
		}
		what := "command"
		if i > 0 {
			what = cand[0].Path[i-1]
		}
		w, err := oneOf(line, toks[i], what, words)
		if err != nil {
			return nil, 0, err
		}
		cand = narrow(cand, i, w)
	}
}

func specs(where Where) (out []*Spec) {
	for i := range Table {
		if Table[i].Where&where != 0 {
			out = append(out, &Table[i])
		}
	}
	return out
}

// narrow keeps the specs whose word i is w.
func narrow(cand []*Spec, i int, w string) (kept []*Spec) {
	for _, s := range cand {
		if s.Path[i] == w {
			kept = append(kept, s)
		}
	}
	return kept
}

func wordsAt(cand []*Spec, i int) (out []string) {
	for _, s := range cand {
		if i < len(s.Path) && (len(out) == 0 || out[len(out)-1] != s.Path[i]) {
			out = append(out, s.Path[i])
		}
	}
	return out
}

// whole are words that must be written in full: a prefix is too easily typed,
// and `sh` has meant show for decades.
var whole = map[string]bool{"shutdown": true}

// oneOf finds the word of list that t is or uniquely begins.
func oneOf(line string, t token, what string, list []string) (string, error) {
	var found []string
	for _, w := range list {
		if w == t.text {
			return w, nil
		}
		if t.text != "" && !whole[w] && strings.HasPrefix(w, t.text) {
			found = append(found, w)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", fail(line, t, "%s %q: could be %s", what, t.text, strings.Join(found, ", "))
	}
	if n := nearest(t.text, list); n != "" {
		return "", fail(line, t, "unknown %s %q: did you mean %s?", what, t.text, n)
	}
	return "", fail(line, t, "unknown %s %q: want one of %s", what, t.text, strings.Join(list, ", "))
}

// inFilter places an error inside a filter expression on the line. For words
// cut from the line the place is exact; for a quoted one with escapes it is the
// word.
func (m *match) inFilter(t token, err error) error {
	var fe *filter.Error
	if !errors.As(err, &fe) {
		return fail(m.line, t, "%v", err)
	}
	e := fail(m.line, t, "filter: %s", fe.Msg)
	if at := strings.Index(m.line[t.pos:t.end], fe.Expr); at >= 0 {
		e.Pos, e.Len = t.pos+at+fe.Pos, fe.Len
	}
	return e
}

// check reports why a word cannot be of kind k, nil when it can.
func check(k Kind, text string) string {
	switch k {
	case KindVRF, KindGroup, KindIface, KindPort:
		if !validName(text) {
			return "want a name"
		}
	case KindSocket, KindWorker:
		if !validMember(text) {
			return "want NAME or NAME/N"
		}
	case KindSpec:
		if !strings.HasPrefix(text, "{") {
			return "want a mapping such as {name: b, proto: udp, bind: \"10.0.0.1:7001\"}"
		}
	case KindAddr:
		if a, err := netip.ParseAddr(text); err != nil || a.Zone() != "" {
			return "want an address"
		}
	case KindAddrPort:
		if a, err := netip.ParseAddrPort(text); err != nil || a.Addr().Zone() != "" {
			return "want ADDR:PORT, or [ADDR]:PORT for IPv6"
		}
	case KindNumber:
		if n, err := strconv.ParseUint(text, 10, 31); err != nil || n == 0 {
			return "want a number from 1"
		}
	case KindDuration:
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			return "want a time such as 10s or 500ms"
		}
	}
	return ""
}
