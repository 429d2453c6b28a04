package command

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a line. Quotes are taken off, `{...}` is one word with
// its bytes as they are.
type token struct {
	text     string
	pos, end int  // bytes of the line it was made from
	quoted   bool // begins with a quote: never an option or a keyword
	open     bool // a quote or brace was not closed: the word may go on
}

// lex cuts a line into words at white space. '...' takes everything, "..." and
// words without quotes take \ before a character. An unclosed quote or brace is
// marked, not refused, because completion meets it all the time.
func lex(line string) []token {
	var out []token
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case unicode.IsSpace(r):
			i += size
			continue
		case r == '|':
			out = append(out, token{text: "|", pos: i, end: i + 1})
			i++
			continue
		}
		var t token
		if r == '{' {
			t = lexSpec(line, i)
		} else {
			t = lexWord(line, i)
		}
		out = append(out, t)
		i = t.end
	}
	return out
}

func lexWord(line string, i int) token {
	t := token{pos: i}
	var b strings.Builder
	for i < len(line) {
		r, size := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == '\'' || r == '"':
			n, closed := lexQuote(line[i+1:], byte(r), &b)
			t.quoted, t.open = t.quoted || i == t.pos, !closed
			i += 1 + n
			continue
		case r == '\\' && i+1 < len(line):
			_, n := utf8.DecodeRuneInString(line[i+1:])
			b.WriteString(line[i+1 : i+1+n])
			t.quoted = t.quoted || i == t.pos
			i += 1 + n
			continue
		case unicode.IsSpace(r) || r == '|':
			t.text, t.end = b.String(), i
			return t
		}
		b.WriteString(line[i : i+size])
		i += size
	}
	t.text, t.end = b.String(), len(line)
	return t
}

// lexQuote reads up to the closing quote q and returns how many bytes it took.
func lexQuote(s string, q byte, b *strings.Builder) (n int, closed bool) {
	for n < len(s) {
		switch {
		case s[n] == q:
			return n + 1, true
		case s[n] == '\\' && q == '"' && n+1 < len(s):
			n++
		}
		b.WriteByte(s[n])
		n++
	}
	return n, false
}

// lexSpec reads a YAML flow mapping up to the brace that closes it. Braces and
// brackets in quoted scalars do not count: a quote opens a scalar only where
// one may begin (`it's` is plain text).
func lexSpec(line string, start int) token {
	depth := 0
	prev := byte('{')
	for i := start; i < len(line); i++ {
		c := line[i]
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return token{text: line[start : i+1], pos: start, end: i + 1, quoted: true}
			}
		case '\'', '"':
			if strings.IndexByte("{[,:", prev) < 0 {
				break
			}
			n := scalarEnd(line[i+1:], c)
			if n < 0 {
				return token{text: line[start:], pos: start, end: len(line), quoted: true, open: true}
			}
			i += n + 1
			c = 'x'
		}
		if c != ' ' && c != '\t' {
			prev = c
		}
	}
	return token{text: line[start:], pos: start, end: len(line), quoted: true, open: true}
}

// scalarEnd is the offset of the quote that ends a quoted YAML scalar, or -1.
func scalarEnd(s string, q byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q == '"':
			i++
		case s[i] == q && q == '\'' && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i
		}
	}
	return -1
}

// Quote writes s so that lex reads it back as one word. In NAME=VALUE only the
// value gets quotes, since a quoted word is no option.
func Quote(s string) string {
	special := func(r rune) bool {
		return r == '\'' || r == '"' || r == '\\' || r == '|' || r == '{' || unicode.IsSpace(r)
	}
	switch {
	case strings.HasPrefix(s, "{") && specIsWhole(s):
		return s
	case s != "" && strings.IndexFunc(s, special) < 0:
		return s
	}
	if name, value, ok := strings.Cut(s, "="); ok && name != "" && strings.IndexFunc(name, special) < 0 {
		return name + "=" + Quote(value)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func specIsWhole(s string) bool {
	t := lexSpec(s, 0)
	return !t.open && t.end == len(s)
}

// Join makes one line of the arguments of `edemux ctl`. A single argument is a
// whole line already.
func Join(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = Quote(a)
	}
	return strings.Join(out, " ")
}
