package demux

import (
	"net/netip"
	"slices"

	"github.com/gaissmai/bart"
)

// ruleSet is the compiled form of the rules: per protocol and VRF a longest
// prefix match on the destination, whose node knows the next shorter prefix
// that has rules, and in each node the first rule of every port. A lookup
// visits the prefixes that cover the packet's address (two or three in real
// rule sets, one per length at worst) whatever the number of rules; memory is
// proportional to the rules.
type ruleSet struct {
	targets []SockID // by rule index: what the first match is handed over to
	parts   [2]ruleParts
}

// ruleParts are the rules of one protocol: those of every VRF, and those of
// one VRF by its index.
type ruleParts struct {
	any *rulePart
	vrf []*rulePart
}

// noRule is larger than every rule index.
const noRule = ^uint32(0)

// match returns the socket of the first rule that matches, 0 when none does.
func (r *ruleSet) match(q *Query) SockID {
	p := &r.parts[0]
	if q.Proto == UDP {
		p = &r.parts[1]
	}
	best := noRule
	if p.any != nil {
		best = p.any.match(q, best)
	}
	if int(q.VRF) < len(p.vrf) && p.vrf[q.VRF] != nil {
		best = p.vrf[q.VRF].match(q, best)
	}
	if best == noRule {
		return 0
	}
	return r.targets[best]
}

// rulePart matches destinations, then in each node sources where rules ask for
// them. The rules of all families are the root's.
type rulePart struct {
	lpm    *lpm // to nodes
	nodes  []ruleNode
	extras []ruleExtra
}

// ruleNode holds the rules of one prefix and of as many shorter ones above it
// as fit into a cache line.
type ruleNode struct {
	n      int32                // ranges in use
	extra  int32                // further rules of this prefix; -1 = none
	parent int32                // next shorter prefix whose rules are not here; -1 = none
	least  uint32               // smallest rule index among extra and parents
	ranges [rangesMax]ruleRange // ascending rule indices
}

// ruleRange is a rule for a range of ports.
type ruleRange struct {
	low, top uint16
	rule     uint32
}

const rangesMax = 6

// ruleExtra is what does not fit into a node.
type ruleExtra struct {
	ports *portMap  // many rules of one prefix; may be nil
	srcs  *rulePart // rules that also ask for a source, by source prefix; may be nil
}

// match returns the smallest rule index below best that matches, else best.
func (p *rulePart) match(q *Query, best uint32) uint32 {
	l := p.lpm.find(q.Daddr)
	best = l.first(q.Dport, best)
	for i := l.node; i >= 0 && l.least < best; {
		n := &p.nodes[i]
		best = n.first(q.Dport, best)
		if n.least >= best {
			break
		}
		if n.extra >= 0 {
			best = p.extras[n.extra].match(q, best)
		}
		i = n.parent
	}
	return best
}

// match is the same for what did not fit into a node.
func (x *ruleExtra) match(q *Query, best uint32) uint32 {
	if x.ports != nil {
		best = min(best, x.ports.at(q.Dport))
	}
	if x.srcs == nil {
		return best
	}
	p := x.srcs
	l := p.lpm.find(q.Saddr)
	best = l.first(q.Dport, best)
	for i := l.node; i >= 0 && l.least < best; {
		n := &p.nodes[i]
		best = n.first(q.Dport, best)
		if n.least >= best {
			break
		}
		if n.extra >= 0 {
			best = min(best, p.extras[n.extra].ports.at(q.Dport))
		}
		i = n.parent
	}
	return best
}

// first returns the smaller of best and the first rule in this leaf for port.
func (l *leaf) first(port uint16, best uint32) uint32 {
	for i := range l.ranges {
		if r := &l.ranges[i]; r.low <= port && port <= r.top {
			return min(best, r.rule)
		}
	}
	return best
}

// leafOf makes the leaf of a node: its first rules, and the way to the others.
func (p *rulePart) leafOf(node int32) leaf {
	l := leaf{node: -1, least: noRule}
	for i := range l.ranges {
		l.ranges[i] = ruleRange{1, 0, noRule}
	}
	if node < 0 {
		return l
	}
	n := &p.nodes[node]
	l.least = n.least
	k := copy(l.ranges[:], n.ranges[:n.n])
	if k < int(n.n) {
		l.least = min(l.least, n.ranges[k].rule)
	}
	if l.least != noRule {
		l.node = node
	}
	return l
}

// first returns the smaller of best and the first rule in this node for port.
func (n *ruleNode) first(port uint16, best uint32) uint32 {
	for i := range n.ranges[:n.n] {
		r := &n.ranges[i]
		if r.rule >= best {
			break
		}
		if r.low <= port && port <= r.top {
			return r.rule
		}
	}
	return best
}

// all is the smallest rule index of the node and everything above it.
func (n *ruleNode) all() uint32 {
	if n.n > 0 {
		return min(n.least, n.ranges[0].rule)
	}
	return n.least
}

// compileRules builds the lookup form.
func compileRules(rules []Rule) *ruleSet {
	if len(rules) == 0 {
		return nil
	}
	r := &ruleSet{targets: make([]SockID, len(rules))}
	type domain struct {
		proto int
		any   bool
		vrf   uint16
	}
	byDomain := map[domain][]uint32{}
	for i := range rules {
		u := &rules[i]
		r.targets[i] = u.Socket
		d := domain{any: u.AnyVRF, vrf: u.VRF}
		if u.Proto == UDP {
			d.proto = 1
		}
		if u.AnyVRF {
			d.vrf = 0
		}
		byDomain[d] = append(byDomain[d], uint32(i))
	}
	for d, list := range byDomain {
		p := newRulePart(rules, list, false)
		parts := &r.parts[d.proto]
		if d.any {
			parts.any = p
			continue
		}
		for len(parts.vrf) <= int(d.vrf) {
			parts.vrf = append(parts.vrf, nil)
		}
		parts.vrf[d.vrf] = p
	}
	return r
}

// newRulePart compiles the rules in list (ascending indices), keyed by source
// prefix when bySource, else by destination.
func newRulePart(rules []Rule, list []uint32, bySource bool) *rulePart {
	p := &rulePart{}
	byPrefix := map[netip.Prefix][]uint32{}
	for _, i := range list {
		pfx := rules[i].Dst
		if bySource {
			pfx = rules[i].Src
		}
		byPrefix[pfx.Masked()] = append(byPrefix[pfx.Masked()], i)
	}
	prefixes := make([]netip.Prefix, 0, len(byPrefix))
	for pfx := range byPrefix {
		prefixes = append(prefixes, pfx)
	}
	// Shorter ones first, so that a parent is there before its children.
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int {
		if a.Bits() != b.Bits() {
			return a.Bits() - b.Bits() // the invalid prefix has -1
		}
		return a.Addr().Compare(b.Addr())
	})
	p.nodes = make([]ruleNode, 0, len(prefixes))
	var up bart.Table[int32]
	root := int32(-1)
	entries := make([]entry, 0, len(prefixes))
	for id, pfx := range prefixes {
		parent := root
		if !pfx.IsValid() {
			root = int32(id)
		} else {
			if _, i, ok := up.LookupPrefixLPM(pfx); ok {
				parent = i
			}
			up.Insert(pfx, int32(id))
			entries = append(entries, entry{pfx, int32(id)})
		}
		p.addNode(rules, parent, byPrefix[pfx], bySource)
	}
	p.lpm = newLPM(entries, root, p.leafOf)
	return p
}

// addNode appends the node of one prefix with the rules in list.
func (p *rulePart) addNode(rules []Rule, parent int32, list []uint32, bySource bool) {
	n := ruleNode{extra: -1, parent: parent, least: noRule}
	var x ruleExtra
	plain, withSource := list, []uint32(nil)
	if !bySource {
		plain, withSource = splitBySource(rules, list)
	}
	if len(plain) <= rangesMax {
		for _, i := range plain {
			n.ranges[n.n] = ruleRange{rules[i].Low, rules[i].Top, i}
			n.n++
		}
	} else {
		x.ports, n.least = newPortMap(rules, plain), plain[0]
	}
	if len(withSource) > 0 {
		x.srcs, n.least = newRulePart(rules, withSource, true), min(n.least, withSource[0])
	}
	if x != (ruleExtra{}) {
		n.extra = int32(len(p.extras))
		p.extras = append(p.extras, x)
	}
	if parent >= 0 {
		n.absorb(&p.nodes[parent])
	}
	p.nodes = append(p.nodes, n)
}

// absorb takes in the ranges of the parent when they are all it has and fit.
func (n *ruleNode) absorb(up *ruleNode) {
	if up.extra >= 0 || n.n+up.n > rangesMax {
		n.least = min(n.least, up.all())
		return
	}
	n.parent = up.parent
	n.least = min(n.least, up.least)
	copy(n.ranges[n.n:], up.ranges[:up.n])
	n.n += up.n
	slices.SortFunc(n.ranges[:n.n], func(a, b ruleRange) int { return int(a.rule) - int(b.rule) })
}

// splitBySource parts rules without a source from those with one.
func splitBySource(rules []Rule, list []uint32) (plain, withSource []uint32) {
	for _, i := range list {
		if rules[i].Src.IsValid() {
			withSource = append(withSource, i)
		} else {
			plain = append(plain, i)
		}
	}
	return plain, withSource
}
