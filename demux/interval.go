package demux

import "slices"

// intervals finds the interval that holds a key: the last of a sorted list of
// starts that is not above it. A table by the key's place between the first
// and the last start leads next to it, so a search costs three memory accesses
// whatever the number of starts; where starts crowd in one place a binary
// search closes in first.
type intervals[K uint32 | uint64] struct {
	base   K        // first start after 0
	shift  uint8    // of a key's distance from base to its bucket
	bucket []uint32 // index of the last start not above the bucket's first key
	starts []K      // ascending, the first is 0; padded with the largest key
	n      int      // starts without padding
	leaves []leaf   // by start
}

// window is how many starts the last step compares.
const window = 16

// newIntervals builds the table. starts ascend and begin with 0.
func newIntervals[K uint32 | uint64](starts []K, leaves []leaf) *intervals[K] {
	t := &intervals[K]{n: len(starts), leaves: leaves, bucket: []uint32{0, 0}}
	for range window {
		starts = append(starts, ^K(0))
	}
	t.starts = starts
	if t.n < 2 {
		return t
	}
	t.base = starts[1]
	span := starts[t.n-1] - t.base
	for uint64(span>>t.shift) > uint64(t.n/4) {
		t.shift++
	}
	t.bucket = make([]uint32, int(span>>t.shift)+2)
	i := 0
	for b := range t.bucket {
		first := t.base + K(b)<<t.shift
		if b == len(t.bucket)-1 { // beyond the last start
			t.bucket[b] = uint32(t.n - 1)
			break
		}
		for i+1 < t.n && starts[i+1] <= first {
			i++
		}
		t.bucket[b] = uint32(i)
	}
	return t
}

// find returns the leaf of the interval that holds k.
func (t *intervals[K]) find(k K) *leaf {
	if k < t.base || t.n < 2 {
		return &t.leaves[0]
	}
	b := int(min(uint64((k-t.base)>>t.shift), uint64(len(t.bucket)-2)))
	at, end := int(t.bucket[b]), int(t.bucket[b+1])
	for end-at >= window { // the answer lies in [at, end]
		if m := (at + end + 1) / 2; t.starts[m] <= k {
			at = m
		} else {
			end = m - 1
		}
	}
	w := (*[window]K)(t.starts[at:])
	c := 0
	if w[8] <= k {
		c = 8
	}
	if w[c+4] <= k {
		c += 4
	}
	if w[c+2] <= k {
		c += 2
	}
	if w[c+1] <= k {
		c++
	}
	return &t.leaves[min(at+c, t.n-1)] // padding equals the largest key
}

// interval is a range of keys with a value; ranges nest or are apart.
type interval[K uint32 | uint64] struct {
	from, to K // inclusive
	val      int32
}

// flatten turns nested intervals, sorted by from and then widest first, into
// starts and values. outside is the value where there is no interval.
func flatten[K uint32 | uint64](list []interval[K], outside int32) ([]K, []int32) {
	starts, vals := []K{0}, []int32{outside}
	put := func(from K, val int32) {
		if n := len(starts) - 1; starts[n] == from {
			vals[n] = val
			return
		}
		starts, vals = append(starts, from), append(vals, val)
	}
	var open []interval[K]
	closeBefore := func(k K, all bool) {
		for len(open) > 0 && (all || open[len(open)-1].to < k) {
			end := open[len(open)-1].to
			open = open[:len(open)-1]
			val := outside
			if len(open) > 0 {
				val = open[len(open)-1].val
			}
			if end != ^K(0) {
				put(end+1, val)
			}
		}
	}
	for _, iv := range list {
		closeBefore(iv.from, false)
		put(iv.from, iv.val)
		open = append(open, iv)
	}
	closeBefore(0, true)
	return starts, vals
}

// valueAt is the plain search, for building.
func valueAt[K uint32 | uint64](starts []K, vals []int32, k K) int32 {
	i, ok := slices.BinarySearch(starts, k)
	if !ok {
		i--
	}
	return vals[i]
}
