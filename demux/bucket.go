package demux

import "edemux/flowtable"

// bucketKey names a TCP bind bucket: the port within an L3 domain.
type bucketKey struct {
	port   uint16
	l3mdev uint32
}

// bucket is struct inet_bind_bucket with its shortcuts: while every owner was
// bound with reuseport by one user, a further one need not be compared with
// all of them.
type bucket struct {
	owners    int
	reuse     bool  // fastreuse > 0
	reuseport uint8 // fastreuseport
	uid       uint32
	sample    Sock // fast_*: the socket that set reuseport
}

const (
	portNone = iota
	portAny
	portStrict
)

// l3mdev is inet_sk_bound_l3mdev.
func (b *Builder) l3mdev(s *Sock) uint32 {
	if b.v.TCPL3mdevAccept || s.Bdi == 0 {
		return 0
	}
	return b.v.VRFs[s.VRF].Ifindex
}

func (b *Builder) bucketOf(s *Sock) bucketKey { return bucketKey{s.Lport, b.l3mdev(s)} }

// own is inet_csk_update_fastreuse and inet_bind_hash for a socket whose bind
// was granted.
func (b *Builder) own(s *Sock, uid uint32) {
	k := b.bucketOf(s)
	t := b.buckets[k]
	if t == nil {
		t = new(bucket)
		b.buckets[k] = t
	}
	reuse := s.Flags&(Reuseaddr|Listening) == Reuseaddr
	port := s.Flags&Reuseport != 0
	switch {
	case t.owners == 0:
		t.reuse, t.reuseport = reuse, portNone
		if port {
			t.reuseport, t.uid, t.sample = portAny, uid, *s
		}
	default:
		t.reuse = t.reuse && reuse
		if !port {
			t.reuseport = portNone
		} else if !t.matches(s, uid, true) {
			t.reuseport, t.uid, t.sample = portStrict, uid, *s
		}
	}
	t.owners++
}

// disown is inet_put_port.
func (b *Builder) disown(s *Sock) {
	k := b.bucketOf(s)
	if t := b.buckets[k]; t != nil {
		if t.owners--; t.owners <= 0 {
			delete(b.buckets, k)
		}
	}
}

// matches is sk_reuseport_match.
func (t *bucket) matches(s *Sock, uid uint32, noGroup bool) bool {
	if t.reuseport == portNone || s.Flags&Reuseport == 0 || !noGroup || t.uid != uid {
		return false
	}
	if t.reuseport == portAny {
		return true
	}
	return overlap(&t.sample, s, true, false)
}

// rekey recomputes the buckets after tcp_l3mdev_accept changed. Shortcuts are
// dropped: what they stood for held in the old domains.
func (b *Builder) rekey() {
	clear(b.buckets)
	for _, p := range b.ports[0] {
		for _, id := range p.ids {
			s := b.socks.at(id)
			k := b.bucketOf(s)
			if b.buckets[k] == nil {
				b.buckets[k] = new(bucket)
			}
			b.buckets[k].owners++
		}
	}
}

// tcpConflict is inet_csk_get_port with a given port. self is the socket
// itself when listen() asks again.
func (b *Builder) tcpConflict(s *Sock, uid uint32, self SockID, noGroup bool) (in SockID) {
	t := b.buckets[b.bucketOf(s)]
	if t == nil || t.reuse && s.Flags&(Reuseaddr|Listening) == Reuseaddr || t.matches(s, uid, noGroup) {
		return 0
	}
	domain := b.l3mdev(s)
	check := func(id SockID) bool {
		o := b.socks.at(id)
		if id != self && b.l3mdev(o) == domain && overlap(s, o, true, true) && bindConflict(s, o, uid, b.uid(id), noGroup) {
			in = id
			return false
		}
		return true
	}
	if s.wild() {
		if p := b.ports[0][s.Lport]; p != nil {
			for _, id := range p.ids {
				if !check(id) {
					break
				}
			}
		}
		return in
	}
	b.bound.each(&b.socks, flowtable.Any6, s.Lport, check)
	if in == 0 {
		b.bound.each(&b.socks, s.Laddr, s.Lport, check)
	}
	return in
}

// bindConflict is inet_bind_conflict with relax and reuseport_ok.
func bindConflict(s, o *Sock, uid, uid2 uint32, noGroup bool) bool {
	if s.Bdi != 0 && o.Bdi != 0 && s.Bdi != o.Bdi {
		return false
	}
	if s.Flags&o.Flags&Reuseaddr != 0 && o.Flags&Listening == 0 {
		return false
	}
	return s.Flags&o.Flags&Reuseport == 0 || !noGroup || uid != uid2
}
