package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// MaxSize bounds a configuration, bytes.
	MaxSize = 8 << 20
	// maxDepth bounds nesting; the deepest key of the table is at 5.
	maxDepth = 16
	// maxRun bounds the keys of one block mapping (4094 VLANs fit): the time
	// and stack that the YAML parser spends grow with them.
	maxRun = 4500
)

// class is what YAML 1.2 takes a value for.
type class uint8

const (
	classNull class = iota
	classBool
	classInt
	classFloat
	classString
	classList
	classMap
)

func (c class) String() string {
	return [...]string{"nothing", "true or false", "a number", "a fraction", "text", "a list", "a mapping"}[c]
}

// node is a YAML value with its place. Text is that of the token, so that
// 100.20, 0600 and 00:11 stay what was written.
type node struct {
	Pos
	class  class
	quoted bool
	keys   []*node // of a mapping, in the order of the file
	vals   []*node // of a mapping or list
}

// parseYAML turns data into a tree, nil when the file is empty. Anchors,
// aliases, tags, directives and further documents are refused: a value stands
// where it is used.
func parseYAML(l *list, data []byte) (root *node) {
	text, ok := cleanText(l, data)
	if !ok {
		return nil
	}
	l.lines = strings.Split(text, "\n")
	defer func() {
		// The YAML parser is not ours; what it cannot take is a wrong file.
		if r := recover(); r != nil {
			l.bad(Pos{Line: 1, Col: 1}, "not understood as YAML", "check brackets, quotes and indentation")
			root = nil
		}
	}()
	tokens := lexer.Tokenize(text)
	if !scanTokens(l, tokens) {
		return nil
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		syntaxError(l, tokens, err)
		return nil
	}
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		doc := convert(l, d.Body, 0)
		if doc == nil {
			return nil
		}
		if root != nil {
			l.bad(doc.Pos, "second YAML document", "keep one document in a file")
			return nil
		}
		root = doc
	}
	return root
}

// cleanText checks the bytes before any parsing: size, encoding, control
// characters. Line ends become \n (the YAML lexer counts \r\n as two).
func cleanText(l *list, data []byte) (string, bool) {
	if len(data) > MaxSize {
		l.badf(Pos{}, "put many sockets into a flows file", "configuration of more than %d bytes", MaxSize)
		return "", false
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	line, col := 1, 1
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			l.badf(Pos{Line: line, Col: col}, "save the file as UTF-8", "byte 0x%02x is not UTF-8", text[i])
			return "", false
		case r == '\n':
			line, col = line+1, 0
		case r < 0x20 && r != '\t', r == 0x7f, r == 0xfeff, r == 0x85, r == 0x2028, r == 0x2029:
			l.badf(Pos{Line: line, Col: col}, "remove it", "control character U+%04X", r)
			return "", false
		}
		i += n
		col++
	}
	return text, true
}

// scanTokens refuses what the grammar here does not have, and bounds nesting
// and mappings, before the recursive parser sees them.
func scanTokens(l *list, tokens token.Tokens) bool {
	var depth, entries, line int
	var runs runStack
	for _, t := range tokens {
		p := Pos{Line: t.Position.Line, Col: t.Position.Column, Text: strings.TrimSpace(t.Value)}
		first := t.Position.Line != line
		if first {
			entries, line = 0, t.Position.Line
		}
		if r, ok := refused[t.Type]; ok {
			l.bad(p, r[0], r[1])
			return false
		}
		if quotedLines(t) {
			l.bad(Pos{Line: p.Line, Col: p.Col}, "quote is not closed on its line", "close it (for text of several lines write | and indent the lines)")
			return false
		}
		if first && depth == 0 && t.Type != token.CommentType {
			if runs.add(p.Col) > maxRun && t.Type != token.SequenceEntryType {
				l.badf(p, "split the mapping", "more than %d keys in one mapping", maxRun)
				return false
			}
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth = max(depth-1, 0)
		case token.SequenceEntryType:
			entries++
		}
		if depth+len(runs) > 2*maxDepth || depth > maxDepth || entries > maxDepth {
			l.badf(p, "no key lies that deep", "nested more than %d deep", maxDepth)
			return false
		}
	}
	return true
}

// refused are the token types that the configuration has no use for.
var refused = map[token.Type][2]string{
	token.AnchorType:     {"anchors and aliases are not supported", "write the value out"},
	token.AliasType:      {"anchors and aliases are not supported", "write the value out"},
	token.MergeKeyType:   {"merge keys are not supported", "write the keys out"},
	token.TagType:        {"tags are not supported", "write the value without a tag"},
	token.DirectiveType:  {"directives are not supported", "remove the line"},
	token.MappingKeyType: {"complex keys are not supported", "write key: value"},
}

// runStack counts, per open indentation, the lines that began at it.
type runStack []struct{ col, n int }

func (s *runStack) add(col int) int {
	r := *s
	for len(r) > 0 && r[len(r)-1].col > col {
		r = r[:len(r)-1]
	}
	if len(r) == 0 || r[len(r)-1].col < col {
		r = append(r, struct{ col, n int }{col: col})
	}
	r[len(r)-1].n++
	*s = r
	return r[len(r)-1].n
}

// quotedLines reports whether t is text in quotes of more than one line: a
// forgotten quote swallows lines that are right.
func quotedLines(t *token.Token) bool {
	return (t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType) &&
		strings.Contains(strings.TrimSpace(t.Origin), "\n")
}

// syntaxError records an error of the YAML parser with our advice for the
// mistakes that people make.
func syntaxError(l *list, tokens token.Tokens, err error) {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		l.bad(Pos{Line: 1, Col: 1}, "not understood as YAML", "check brackets, quotes and indentation")
		return
	}
	t := e.GetToken()
	if open := unclosed(tokens, t); open != nil {
		l.bad(Pos{Line: open.Position.Line, Col: open.Position.Column, Text: open.Value}, "bracket is not closed", "close every bracket")
		return
	}
	p := Pos{Line: t.Position.Line, Col: t.Position.Column, Text: strings.TrimSpace(t.Value)}
	src := ""
	if p.Line > 0 && p.Line <= len(l.lines) {
		src = l.lines[p.Line-1]
	}
	l.bad(p, "YAML: "+e.GetMessage(), syntaxAdvice(src))
}

// unclosed returns the innermost bracket that is open at token at, when at
// begins a line that is not indented more than the one with the bracket: then
// the bracket is the mistake, not what stands at at.
func unclosed(tokens token.Tokens, at *token.Token) *token.Token {
	type opening struct {
		t      *token.Token
		indent int
	}
	var stack []opening
	line, indent := 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, indent = t.Position.Line, t.Position.Column
		}
		if t.Position.Offset >= at.Position.Offset && t.Position.Line >= at.Position.Line {
			break
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			stack = append(stack, opening{t, indent})
		case token.MappingEndType, token.SequenceEndType:
			stack = stack[:max(len(stack)-1, 0)]
		}
	}
	if len(stack) == 0 {
		return nil
	}
	top := stack[len(stack)-1]
	if at.Position.Line > top.t.Position.Line && at.Position.Column <= top.indent {
		return top.t
	}
	return nil
}

func syntaxAdvice(src string) string {
	s := strings.TrimSpace(src)
	switch {
	case strings.Contains(s, "[::") || strings.Contains(s, "*:"):
		return `put the address into quotes, as "[::]:53"`
	case strings.HasPrefix(src, "\t") || strings.HasPrefix(strings.TrimLeft(src, " "), "\t"):
		return "indent with spaces"
	case strings.Count(s, "{") != strings.Count(s, "}"), strings.Count(s, "[") != strings.Count(s, "]"):
		return "close every bracket"
	case strings.Count(s, `"`)%2 == 1, strings.Count(s, "'")%2 == 1:
		return "close every quote"
	case strings.Contains(s, ":") && !strings.Contains(s+" ", ": "):
		return "write a space after the colon"
	case !strings.Contains(s, ":"):
		return "write key: value"
	}
	return "check indentation and quote text that holds a colon followed by a space"
}

func posOf(n ast.Node) Pos {
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return Pos{Line: 1, Col: 1}
	}
	return Pos{Line: t.Position.Line, Col: t.Position.Column, Text: t.Value}
}

// convert copies the syntax tree into ours; nil after a refused construct.
func convert(l *list, n ast.Node, depth int) *node {
	v := &node{Pos: posOf(n)}
	if depth > maxDepth {
		l.badf(v.Pos, "no key lies that deep", "nested more than %d deep", maxDepth)
		return nil
	}
	switch t := n.(type) {
	case *ast.MappingNode:
		return convertMapping(l, v, t, depth)
	case *ast.SequenceNode:
		v.class, v.Text = classList, "-"
		if t.IsFlowStyle {
			v.Text = "["
		}
		for _, e := range t.Values {
			c := convert(l, e, depth+1)
			if c == nil {
				return nil
			}
			v.vals = append(v.vals, c)
		}
	case *ast.NullNode:
		v.class = classNull
		if t.Token != nil && t.Token.Type == token.ImplicitNullType {
			v.Text = ""
		}
	case *ast.BoolNode:
		v.class = classBool
	case *ast.IntegerNode:
		v.class = classInt
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		v.class = classFloat
	case *ast.StringNode:
		v.class = classString
		v.quoted = t.Token != nil && (t.Token.Type == token.SingleQuoteType || t.Token.Type == token.DoubleQuoteType)
	case *ast.LiteralNode:
		v.class, v.quoted, v.Text = classString, true, t.Value.Value
	default:
		l.bad(v.Pos, fmt.Sprintf("%s is not supported", strings.ToLower(n.Type().YAMLName())), "write a plain value")
		return nil
	}
	return v
}

func convertMapping(l *list, v *node, t *ast.MappingNode, depth int) *node {
	v.class, v.Text = classMap, "{"
	if !t.IsFlowStyle && len(t.Values) > 0 {
		// A block mapping's token is its first colon; it begins at its first key.
		v.Pos = posOf(t.Values[0].Key)
	}
	for _, kv := range t.Values {
		k := convert(l, kv.Key, depth+1)
		if k == nil {
			return nil
		}
		c := convert(l, kv.Value, depth+1)
		if c == nil {
			return nil
		}
		v.keys, v.vals = append(v.keys, k), append(v.vals, c)
	}
	return v
}
