package demux

import "slices"

// paged is a growable array that a View shares with the Builder: pages are
// copied before the first write after a Publish, so publishing costs one
// pointer per page, not one element per socket.
//
// The Builder writes through mut with its epoch; Views only call at and get.
type paged[T any] struct{ pages []*page[T] }

const (
	pageBits = 8
	pageSize = 1 << pageBits
	pageMask = pageSize - 1
)

type page[T any] struct {
	epoch uint64 // of the Builder when it made this copy; Views do not read it
	a     [pageSize]T
}

// at returns element i, which exists.
func (p *paged[T]) at(i uint32) *T { return &p.pages[i>>pageBits].a[i&pageMask] }

// get returns element i, or nil beyond the end.
func (p *paged[T]) get(i uint32) *T {
	if int(i>>pageBits) >= len(p.pages) {
		return nil
	}
	return p.at(i)
}

// mut returns element i for writing, growing the array up to it.
func (p *paged[T]) mut(i uint32, epoch uint64) *T {
	n := int(i >> pageBits)
	for n >= len(p.pages) {
		p.pages = append(p.pages, &page[T]{epoch: epoch})
	}
	pg := p.pages[n]
	if pg.epoch != epoch {
		c := *pg
		c.epoch = epoch
		pg = &c
		p.pages[n] = pg
	}
	return &pg.a[i&pageMask]
}

// snapshot returns what a View keeps.
func (p *paged[T]) snapshot() paged[T] { return paged[T]{slices.Clone(p.pages)} }
