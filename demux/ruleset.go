package demux

import (
	"net/netip"
	"slices"

	"edemux/flowtable"

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
	lpm   bart.Table[int32] // to nodes
	root  int32             // node of the rules without a destination; -1 = none
	nodes []ruleNode
}

// ruleNode holds the rules of exactly one prefix. The form for one range of
// ports needs half a cache line and no pointer.
type ruleNode struct {
	parent   int32  // node of the next shorter prefix; -1 = none
	least    uint32 // smallest rule index here and in all shorter prefixes
	rule     uint32 // of ports low to top; noRule when there are none
	low, top uint16
	ports    *portMap  // several ranges; nil otherwise
	srcs     *rulePart // rules that also ask for a source, by source prefix
}

// match returns the smallest rule index below best that matches, else best.
func (p *rulePart) match(q *Query, best uint32) uint32 {
	for i := p.find(q.Daddr); i >= 0; {
		n := &p.nodes[i]
		if n.least >= best {
			break
		}
		best = n.first(q.Dport, best)
		if n.srcs != nil {
			best = n.srcs.matchSource(q, best)
		}
		i = n.parent
	}
	return best
}

func (p *rulePart) matchSource(q *Query, best uint32) uint32 {
	for i := p.find(q.Saddr); i >= 0; {
		n := &p.nodes[i]
		if n.least >= best {
			break
		}
		best = n.first(q.Dport, best)
		i = n.parent
	}
	return best
}

func (p *rulePart) find(a flowtable.Addr) int32 {
	if i, ok := p.lpm.Lookup(toNetip(a)); ok {
		return i
	}
	return p.root
}

// first returns the smaller of best and the first rule of this node for port.
func (n *ruleNode) first(port uint16, best uint32) uint32 {
	switch {
	case n.ports != nil:
		return min(best, n.ports.at(port))
	case n.low <= port && port <= n.top:
		return min(best, n.rule)
	}
	return best
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
	p := &rulePart{root: -1}
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
	for _, pfx := range prefixes {
		p.addNode(rules, pfx, byPrefix[pfx], bySource)
	}
	return p
}

func (p *rulePart) addNode(rules []Rule, pfx netip.Prefix, list []uint32, bySource bool) {
	n := ruleNode{parent: p.root, least: list[0], rule: noRule, low: 1}
	if !pfx.IsValid() {
		n.parent = -1
	} else if _, up, ok := p.lpm.LookupPrefixLPM(pfx); ok {
		n.parent = up
	}
	if n.parent >= 0 {
		n.least = min(n.least, p.nodes[n.parent].least)
	}
	plain := list
	if !bySource {
		var withSource []uint32
		plain = nil
		for _, i := range list {
			if rules[i].Src.IsValid() {
				withSource = append(withSource, i)
			} else {
				plain = append(plain, i)
			}
		}
		if len(withSource) > 0 {
			n.srcs = newRulePart(rules, withSource, true)
		}
	}
	n.setPorts(rules, plain)
	id := int32(len(p.nodes))
	p.nodes = append(p.nodes, n)
	if pfx.IsValid() {
		p.lpm.Insert(pfx, id)
	} else {
		p.root = id
	}
}
