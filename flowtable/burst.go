package flowtable

import (
	"unsafe"

	"edemux/flowtable/prefetch"
)

// burstMax is how many lookups are in flight at once.
const burstMax = 64

// LookupBurst looks k[i] up for every i, prefetching ahead, stores the results
// in refs and the sockets in socks, and returns the number of hits. The slices
// have one length; the keys may be of both families.
func (s *Space) LookupBurst(h []uint32, k []Key, d Dev, now int64, refs []Ref, socks []uint32) (hits int) {
	for len(k) > 0 {
		n := min(len(k), burstMax)
		hits += s.burst(h[:n], k[:n], d, now, refs[:n], socks[:n])
		h, k, refs, socks = h[n:], k[n:], refs[n:], socks[n:]
	}
	return hits
}

func (s *Space) burst(h []uint32, k []Key, d Dev, now int64, refs []Ref, socks []uint32) (hits int) {
	s.PrefetchBurst(h, k)
	for i := range k {
		refs[i], socks[i] = s.LookupSock(h[i], &k[i], d, now)
		if refs[i] != 0 {
			hits++
		}
	}
	return hits
}

var _ unsafe.Pointer
var _ = prefetch.LineSize

// PrefetchBurst is Prefetch for a burst.
func (s *Space) PrefetchBurst(h []uint32, k []Key) {
	for i := range k {
		s.Prefetch(h[i], !k[i].Is4())
	}
}
