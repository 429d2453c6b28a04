package demux

import (
	"slices"
	"sort"
)

// portMap maps every port to the first rule that covers it: a sorted list of
// intervals, or beyond a few a table by the high byte of the port with pages
// for those that hold several intervals. Two loads either way.
type portMap struct {
	starts []uint16
	rules  []uint32 // of the interval from starts[i] to the next start
	high   []uint32 // by port>>8: rule, or pageOf + page number
	pages  [][256]uint32
}

const (
	mapLinear = 8       // intervals that are searched rather than tabled
	pageOf    = 1 << 31 // marks a page in high; rule indices stay below
)

// at returns the first rule for port, noRule when there is none.
func (m *portMap) at(port uint16) uint32 {
	if m.high == nil {
		i := len(m.starts) - 1
		for m.starts[i] > port {
			i--
		}
		return m.rules[i]
	}
	r := m.high[port>>8]
	if r&pageOf != 0 && r != noRule {
		r = m.pages[r&^pageOf][port&0xff]
	}
	return r
}

// newPortMap paints the ports of each rule in turn; what an earlier rule
// painted stays. Painting works on the intervals between all bounds, and skips
// painted runs by a forest of links, so n rules take about n log n steps.
func newPortMap(rules []Rule, list []uint32) *portMap {
	bounds := []int{0}
	for _, i := range list {
		bounds = append(bounds, int(rules[i].Low), int(rules[i].Top)+1)
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	if bounds[len(bounds)-1] == 1<<16 {
		bounds = bounds[:len(bounds)-1]
	}
	paint := make([]uint32, len(bounds))
	next := make([]int, len(bounds)+1) // first unpainted interval at or after i
	for i := range next {
		next[i] = i
		if i < len(paint) {
			paint[i] = noRule
		}
	}
	find := func(i int) int {
		for next[i] != i {
			next[i] = next[next[i]]
			i = next[i]
		}
		return i
	}
	for _, r := range list {
		top := int(rules[r].Top)
		for i := find(sort.SearchInts(bounds, int(rules[r].Low))); i < len(bounds) && bounds[i] <= top; i = find(i) {
			paint[i], next[i] = r, i+1
		}
	}
	m := &portMap{}
	for i, b := range bounds {
		if i > 0 && paint[i] == m.rules[len(m.rules)-1] {
			continue
		}
		m.starts, m.rules = append(m.starts, uint16(b)), append(m.rules, paint[i])
	}
	if len(m.starts) > mapLinear {
		m.table()
	}
	return m
}

// table replaces the intervals by the table.
func (m *portMap) table() {
	m.high = make([]uint32, 256)
	k := 0
	for h := range 256 {
		var pg [256]uint32
		same := true
		for low := range 256 {
			port := h<<8 | low
			for k+1 < len(m.starts) && int(m.starts[k+1]) <= port {
				k++
			}
			pg[low] = m.rules[k]
			same = same && pg[low] == pg[0]
		}
		m.high[h] = pg[0]
		if !same {
			m.high[h] = pageOf | uint32(len(m.pages))
			m.pages = append(m.pages, pg)
		}
	}
	m.starts, m.rules = nil, nil
}
