package gen

// ahead is how many turns are known in advance, so that a flow's memory is on
// its way to the cache when its turn comes.
const ahead = 16

// order says whose turn it is.
type order struct {
	r     random
	kind  string
	n     uint64
	queue [ahead]uint64
	first uint64   // position of the next turn in queue
	at    uint64   // robin, shuffle: position in the round
	perm  []uint32 // shuffle
	alias alias    // zipf
}

func newOrder(kind string, flows int, seed uint64) *order {
	o := &order{r: random{seed}, kind: kind, n: uint64(flows)}
	switch kind {
	case "shuffle":
		o.perm = make([]uint32, flows)
		for i := range o.perm {
			o.perm[i] = uint32(i)
		}
		for i := flows - 1; i > 0; i-- {
			j := o.r.below(uint64(i) + 1)
			o.perm[i], o.perm[j] = o.perm[j], o.perm[i]
		}
	case "zipf":
		o.alias = newAlias(flows)
	}
	for i := range o.queue {
		o.queue[i] = o.draw()
	}
	return o
}

// next returns whose turn it is now and whose it is going to be.
func (o *order) next() (now, later uint64) {
	q := &o.queue[o.first%ahead]
	o.first++
	now = *q
	*q = o.draw()
	return now, *q
}

// draw returns a flow. Robin and shuffle give every flow one turn per round,
// each round in the same order; random and zipf draw anew each time.
func (o *order) draw() uint64 {
	switch o.kind {
	case "random":
		return o.r.below(o.n)
	case "zipf":
		return o.alias.draw(&o.r)
	}
	i := o.at
	if o.at++; o.at == o.n {
		o.at = 0
	}
	if o.perm != nil {
		return uint64(o.perm[i])
	}
	return i
}

// alias draws flow k with a probability in proportion to 1/(k+1) (Zipf's law
// with exponent 1) in constant time, by Walker's method as Vose builds it. All
// numbers are integers, so that machines with other floating point agree.
type alias struct {
	keep  []uint64 // of 2^62: how often column k stays k
	other []uint32
}

const aliasOne = 1 << 62

func newAlias(n int) alias {
	a := alias{make([]uint64, n), make([]uint32, n)}
	// Weight of k in units of a column: n * (1/(k+1)) / sum. With weights scaled
	// to 2^32/(k+1) the sum stays below 2^37, and one column is sum/n.
	const scale = 1 << 32
	var sum uint64
	for k := range n {
		sum += scale / uint64(k+1)
	}
	w := a.keep // weights times n; a column holds sum of them
	var small, large []uint32
	for k := range w {
		w[k] = scale / uint64(k+1) * uint64(n)
		if w[k] < sum {
			small = append(small, uint32(k))
		} else {
			large = append(large, uint32(k))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.other[s] = l
		if w[l] -= sum - w[s]; w[l] < sum {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, rest := range [][]uint32{small, large} { // full columns, up to rounding
		for _, k := range rest {
			w[k], a.other[k] = sum, k
		}
	}
	for k := range w {
		w[k] = divide(w[k], sum)
	}
	return a
}

// divide is x/y in units of aliasOne, for x <= y < 2^62.
func divide(x, y uint64) uint64 {
	var q uint64
	for bit := uint64(aliasOne); bit > 0; bit >>= 1 {
		if x >= y {
			x -= y
			q |= bit
		}
		x <<= 1
	}
	return q
}

func (a *alias) draw(r *random) uint64 {
	k := r.below(uint64(len(a.keep)))
	if r.next()>>2 < a.keep[k] {
		return k
	}
	return uint64(a.other[k])
}
