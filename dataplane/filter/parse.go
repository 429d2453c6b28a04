package filter

import (
	"fmt"
	"strings"
)

// Bounds that keep hostile expressions cheap; both are far above real use.
const (
	maxLen   = 1 << 16
	maxDepth = 256
)

type nodeOp uint8

const (
	opTest nodeOp = iota
	opAnd
	opOr
	opNot
)

// node is the syntax tree: what the twin of the tests evaluates directly.
type node struct {
	op   nodeOp
	a, b *node
	test test
}

func and(a, b *node) *node {
	if a == nil {
		return b
	}
	return &node{op: opAnd, a: a, b: b}
}

// parser is a recursive descent over tokens. Errors unwind by panic(*Error),
// caught in parse.
type parser struct {
	src   string
	toks  []token
	known Fields
	depth int
	last  *primitive // whose words a bare value repeats: `port 53 or 5353`
}

// parse returns the tree of expr, nil for the empty expression.
func parse(expr string, known Fields) (n *node, err error) {
	p := &parser{src: expr, known: known}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			n, err = nil, e
		default:
			panic(e)
		}
	}()
	if len(expr) > maxLen {
		p.fail(token{pos: maxLen}, "expression over %d bytes", maxLen)
	}
	p.toks = lex(expr)
	if len(p.toks) == 1 {
		return nil, nil
	}
	n = p.expr()
	if t := p.peek(); t.text == ")" {
		p.fail(t, "`)` without `(`")
	} else if t.text != "" {
		p.fail(t, "%q: want `and` or `or` before it", t.text)
	}
	return n, nil
}

func (p *parser) fail(t token, format string, args ...any) {
	panic(&Error{Expr: p.src, Pos: t.pos, Len: len(t.text), Msg: fmt.Sprintf(format, args...)})
}

func (p *parser) peek() token { return p.toks[0] }

// next takes a token; the end stays where it is.
func (p *parser) next() token {
	t := p.toks[0]
	if t.text != "" {
		p.toks = p.toks[1:]
	}
	return t
}

func (p *parser) accept(words ...string) bool {
	t := p.peek()
	for _, w := range words {
		if t.text != "" && strings.EqualFold(t.text, w) {
			p.next()
			return true
		}
	}
	return false
}

func (p *parser) expr() *node {
	n := p.unary()
	for {
		switch {
		case p.accept("and", "&&"):
			n = &node{op: opAnd, a: n, b: p.unary()}
		case p.accept("or", "||"):
			n = &node{op: opOr, a: n, b: p.unary()}
		default:
			return n
		}
	}
}

func (p *parser) unary() *node {
	p.depth++
	defer func() { p.depth-- }()
	t := p.peek()
	if p.depth > maxDepth {
		p.fail(t, "nested deeper than %d", maxDepth)
	}
	switch {
	case p.accept("not", "!"):
		return &node{op: opNot, a: p.unary()}
	case p.accept("("):
		n := p.expr()
		if c := p.peek(); !p.accept(")") {
			p.fail(c, "want `)` for the `(` in column %d", len([]rune(p.src[:t.pos]))+1)
		}
		return n
	}
	return p.primitive()
}
