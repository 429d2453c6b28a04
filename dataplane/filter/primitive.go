package filter

import (
	"net/netip"
	"strconv"
	"strings"

	"edemux/flowtable"
)

// primitive is what the words before a value say.
type primitive struct {
	proto *node  // `tcp`, `ip6`, ... in front
	dir   dir    // `src`, `dst`
	what  string // `host`, `net`, `port`, `portrange`, `proto`; "" after a bare `src`
}

// primitive parses [PROTOCOL] [src|dst] [host|net|port|portrange|proto] VALUE,
// a protocol alone, or one of the named tests.
func (p *parser) primitive() *node {
	t := p.next()
	w := strings.ToLower(t.text)
	if k, ok := names[w]; ok {
		return p.named(k, w, t)
	}
	switch w {
	case "":
		p.fail(t, "the expression ends here: want a test such as `udp` or `port 53`")
	case "frag":
		p.last = nil
		return p.leaf(t, test{kind: isFrag})
	case "vlan":
		p.last = nil
		return p.vlan(t)
	}
	var pr primitive
	switch q := protocols[w]; {
	case w == "ip":
		pr.proto = p.leaf(t, test{kind: isFamily, lo: 4})
	case w == "ip6":
		pr.proto = p.leaf(t, test{kind: isFamily, lo: 6})
	case q.word:
		pr.proto = p.leaf(t, test{kind: isProto, lo: q.num})
	case isQualifier(w):
		p.toks = append([]token{t}, p.toks...) // read again below
	default:
		return p.repeat(t)
	}
	if !isQualifier(strings.ToLower(p.peek().text)) {
		p.last = nil
		return pr.proto
	}
	if p.accept("src") {
		pr.dir = src
	} else if p.accept("dst") {
		pr.dir = dst
	}
	if q := strings.ToLower(p.peek().text); isQualifier(q) && q != "src" && q != "dst" {
		pr.what = q
		if p.next(); q == "proto" && pr.dir != either {
			p.fail(t, "`proto` has no direction")
		}
	}
	return p.value(&pr, p.next())
}

func isQualifier(w string) bool {
	switch w {
	case "src", "dst", "host", "net", "port", "portrange", "proto":
		return true
	}
	return false
}

// repeat reads a value with the words of the primitive before it. A word that
// is no such value is more likely a misspelt test than a bad value.
func (p *parser) repeat(t token) *node {
	if p.last == nil || !strings.ContainsAny(t.text, ".:0123456789") && protocols[strings.ToLower(t.text)].num == 0 {
		p.unknown(t)
	}
	before := *p.last
	return p.value(&before, t)
}

func (p *parser) unknown(t token) {
	hint := ""
	if _, err := strconv.Atoi(t.text); err == nil {
		hint = ": write `port " + t.text + "` or `proto " + t.text + "`"
	} else if _, err := netip.ParseAddr(t.text); err == nil {
		hint = ": write `host " + t.text + "`"
	} else if _, err := netip.ParsePrefix(t.text); err == nil {
		hint = ": write `net " + t.text + "`"
	} else if w := nearest(strings.ToLower(t.text), Words()); w != "" {
		hint = ": did you mean `" + w + "`?"
	}
	p.fail(t, "unknown word %q%s", t.text, hint)
}

// leaf is a node of one test, refused when the caller cannot know its field.
func (p *parser) leaf(t token, tt test) *node {
	if tt.kind.field()&p.known == 0 {
		p.fail(t, "%q is not known here", t.text)
	}
	return &node{test: tt}
}

func (p *parser) value(pr *primitive, t token) *node {
	p.last = pr
	tt := test{dir: pr.dir}
	switch pr.what {
	case "port", "portrange":
		tt.kind = isPort
		tt.lo, tt.hi = p.ports(pr.what, t)
	case "proto":
		tt.kind, tt.lo = isProto, p.protoNumber(t)
	default:
		tt.kind = isNet
		p.network(pr.what, t, &tt)
	}
	return and(pr.proto, p.leaf(t, tt))
}

func (p *parser) number(t token, text, what string, top uint64) uint16 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > top || text[0] == '+' {
		p.fail(t, "%s %q: want a number from 0 to %d", what, text, top)
	}
	return uint16(n)
}

func (p *parser) ports(what string, t token) (lo, hi uint16) {
	if t.text == "" {
		p.fail(t, "%s: want a port or a range such as 8000-8999", what)
	}
	a, b, isRange := strings.Cut(t.text, "-")
	lo = p.number(t, a, "port", 65535)
	if !isRange {
		return lo, lo
	}
	if hi = p.number(t, b, "port", 65535); hi < lo {
		p.fail(t, "port range %s: the second port is below the first", t.text)
	}
	return lo, hi
}

func (p *parser) protoNumber(t token) uint16 {
	if q, ok := protocols[strings.ToLower(t.text)]; ok {
		return q.num
	}
	if n, err := strconv.ParseUint(t.text, 10, 8); err == nil {
		return uint16(n)
	}
	var all []string
	for w := range protocols {
		all = append(all, w)
	}
	if w := nearest(strings.ToLower(t.text), all); w != "" {
		p.fail(t, "proto %q: did you mean `%s`?", t.text, w)
	}
	p.fail(t, "proto %q: want a number from 0 to 255 or a name such as udp", t.text)
	return 0
}

// network fills in an address or prefix; `host` takes the first only, `net`
// and a bare `src` or `dst` take both.
func (p *parser) network(what string, t token, tt *test) {
	if what == "" {
		what = [...]string{src: "src", dst: "dst"}[tt.dir]
	}
	a, err := netip.ParseAddr(t.text)
	bits := a.BitLen()
	if err != nil && what != "host" {
		var pf netip.Prefix
		if pf, err = netip.ParsePrefix(t.text); err == nil {
			a, bits = pf.Addr(), pf.Bits()
			if m := pf.Masked(); m.Addr() != a {
				p.fail(t, "%s %s has host bits: write %s", what, t.text, m)
			}
		}
	}
	switch {
	case err != nil && what == "host" && strings.Contains(t.text, "/"):
		p.fail(t, "host %q is a prefix: write `net %s`", t.text, t.text)
	case err != nil && t.text == "":
		p.fail(t, "%s: want an address", what)
	case err != nil:
		p.fail(t, "%s %q is not an address", what, t.text)
	case a.Zone() != "":
		p.fail(t, "%s %q: addresses on the wire have no zone", what, t.text)
	}
	tt.lo = 6
	if a.Is4() {
		tt.lo, bits = 4, bits+96
	}
	tt.addr, tt.mask = flowtable.AddrFrom(a), mask(bits)
}

// mask has the first n of 128 bits set.
func mask(n int) flowtable.Addr {
	if n <= 64 {
		return flowtable.Addr{Hi: ^(^uint64(0) >> n)}
	}
	return flowtable.Addr{Hi: ^uint64(0), Lo: ^(^uint64(0) >> (n - 64))}
}

// vlan takes an optional stack of tags, outermost first.
func (p *parser) vlan(t token) *node {
	v := p.peek()
	if v.text == "" || v.text[0] < '0' || v.text[0] > '9' {
		return p.leaf(t, test{kind: isTagged})
	}
	p.next()
	tt := test{kind: isVLAN}
	for id := range strings.SplitSeq(v.text, ".") {
		if tt.tags == 4 {
			p.fail(v, "vlan %s: at most four tags", v.text)
		}
		if id == "" {
			p.fail(v, "vlan %q: want tags such as 100 or 100.10", v.text)
		}
		tt.vlans |= uint64(p.number(v, id, "vlan", 4095)) << (16 * tt.tags)
		tt.tags++
	}
	return p.leaf(t, tt)
}

func (p *parser) named(k kind, w string, t token) *node {
	p.last = nil
	n := p.leaf(t, test{kind: k})
	v := p.next()
	if v.text == "" || v.text == "(" || v.text == ")" {
		p.fail(v, "%s: want a name", w)
	}
	n.test.name = v.text
	switch k {
	case isVerdict:
		n.test.name = p.oneOf(w, v, verdicts())
	case isPath:
		n.test.name = p.oneOf(w, v, paths)
	case isReason:
		n.test.name = p.reason(v)
	}
	return n
}

// reason finds a word of the reason column in any case; there are too many of
// them to list in an error.
func (p *parser) reason(t token) string {
	w, all := strings.ToUpper(t.text), reasons()
	for _, r := range all {
		if r == w {
			return r
		}
	}
	if r := nearest(w, all); r != "" {
		p.fail(t, "reason %q: did you mean %s?", t.text, r)
	}
	p.fail(t, "reason %q: no drop or punt has it", t.text)
	return ""
}

func (p *parser) oneOf(what string, t token, list []string) string {
	w := strings.ToLower(t.text)
	for _, l := range list {
		if l == w {
			return l
		}
	}
	p.fail(t, "%s %q: want one of %s", what, t.text, strings.Join(list, ", "))
	return ""
}
