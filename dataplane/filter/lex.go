package filter

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

// token is a word, a parenthesis or an operator. text is empty at the end.
type token struct {
	text string
	pos  int // byte offset
}

// lex cuts an expression into tokens; the last one is empty. It cannot fail:
// what is no word of the language is found by the parser, which can say where
// it stands.
func lex(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			i += size
			continue
		case r == '(' || r == ')' || r == '!':
			out = append(out, token{s[i : i+1], i})
			i++
			continue
		case strings.HasPrefix(s[i:], "&&"), strings.HasPrefix(s[i:], "||"):
			out = append(out, token{s[i : i+2], i})
			i += 2
			continue
		}
		end := wordEnd(s, i)
		out = append(out, token{s[i:end], i})
		i = end
	}
	return append(out, token{"", len(s)})
}

// wordEnd is where the word that starts at i ends; a word has at least one
// character, so that lex always moves on.
func wordEnd(s string, i int) int {
	for j, r := range s[i:] {
		if j == 0 {
			continue
		}
		if unicode.IsSpace(r) || strings.ContainsRune("()!", r) ||
			strings.HasPrefix(s[i+j:], "&&") || strings.HasPrefix(s[i+j:], "||") {
			return i + j
		}
	}
	return len(s)
}
