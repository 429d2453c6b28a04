package demux

import (
	"net/netip"
	"slices"

	"edemux/flowtable"
)

// lpm is a longest prefix match that is built once and only read: prefixes are
// flattened to intervals of addresses. IPv6 goes in two steps of 64 bits, the
// second one only under upper halves that have longer prefixes than /64.
type lpm struct {
	v4   *intervals[uint32]
	v6   *intervals[uint64]
	subs []*intervals[uint64] // node -2-i in a leaf of v6 leads to subs[i]
	none leaf                 // of addresses without a prefix
}

// leaf is what a prefix leads to: half a cache line, so that a lookup which
// the first three rules of its address settle needs nothing else.
type leaf struct {
	ranges [3]ruleRange // ascending rule indices; unused ones match no port
	node   int32        // where further rules are; -1 = nowhere
	least  uint32       // smallest rule index there
}

// entry is a prefix with the node it leads to.
type entry struct {
	pfx  netip.Prefix
	node int32
}

// newLPM builds the match. none is the node of addresses without a prefix.
func newLPM(list []entry, none int32, leafOf func(node int32) leaf) *lpm {
	var v4 []interval[uint32]
	var v6 []interval[uint64]
	deep := map[uint64][]interval[uint64]{}
	for _, e := range list {
		a, n := flowtable.AddrFrom(e.pfx.Addr()), e.pfx.Bits()
		switch {
		case e.pfx.Addr().Is4():
			v4 = append(v4, interval[uint32]{a.As4(), a.As4() | uint32(ones(32-n)), e.node})
		case n <= 64:
			v6 = append(v6, interval[uint64]{a.Hi, a.Hi | ones(64-n), e.node})
		default:
			deep[a.Hi] = append(deep[a.Hi], interval[uint64]{a.Lo, a.Lo | ones(128-n), e.node})
		}
	}
	m := &lpm{none: leafOf(none)}
	if len(v4) > 0 {
		m.v4 = build(v4, none, leafOf)
	}
	if len(v6) == 0 && len(deep) == 0 {
		return m
	}
	sortIntervals(v6)
	starts, vals := flatten(v6, none)
	for hi, sub := range deep {
		v6 = append(v6, interval[uint64]{hi, hi, -2 - int32(len(m.subs))})
		m.subs = append(m.subs, build(sub, valueAt(starts, vals, hi), leafOf))
	}
	m.v6 = build(v6, none, leafOf)
	return m
}

func build[K uint32 | uint64](list []interval[K], outside int32, leafOf func(int32) leaf) *intervals[K] {
	sortIntervals(list)
	starts, vals := flatten(list, outside)
	leaves := make([]leaf, len(vals))
	for i, v := range vals {
		if v <= -2 {
			leaves[i] = leaf{node: v}
		} else {
			leaves[i] = leafOf(v)
		}
	}
	return newIntervals(starts, leaves)
}

// ones is a number of n low bits.
func ones(n int) uint64 {
	if n == 64 {
		return ^uint64(0)
	}
	return uint64(1)<<n - 1
}

// sortIntervals orders by start, the wider first. Of two equal ones the one
// that leads to a second step comes last: it replaces the other.
func sortIntervals[K uint32 | uint64](l []interval[K]) {
	slices.SortFunc(l, func(a, b interval[K]) int {
		switch {
		case a.from != b.from:
			return order(a.from, b.from)
		case a.to != b.to:
			return order(b.to, a.to)
		}
		return int(b.val) - int(a.val)
	})
}

func order[K uint32 | uint64](a, b K) int {
	if a < b {
		return -1
	}
	return 1
}

// find returns the leaf of the longest prefix that holds a.
func (m *lpm) find(a flowtable.Addr) *leaf {
	if a.Is4() {
		if m.v4 == nil {
			return &m.none
		}
		return m.v4.find(a.As4())
	}
	if m.v6 == nil {
		return &m.none
	}
	l := m.v6.find(a.Hi)
	if l.node <= -2 {
		l = m.subs[-2-l.node].find(a.Lo)
	}
	return l
}
