package demux

// Candidate is a socket on the packet's destination port, as `explain` lists
// it.
type Candidate struct {
	Sock  SockID
	Score int    // compute_score; -1: does not match
	Exact bool   // bound to the packet's destination, not to the wildcard
	Why   string // why it does not match
}

// Candidates lists every socket of the query's protocol and port with its score
// or the reason why it has none, in order of SockID. Control path: it looks at
// every socket.
func (v *View) Candidates(q *Query) (all []Candidate) {
	v.Socks(func(id SockID, s *Sock) bool {
		if s.Proto() == q.Proto && s.Lport == q.Dport && (q.Proto == UDP || s.Flags&Listening != 0) {
			all = append(all, v.candidate(id, s, q))
		}
		return true
	})
	return all
}

func (v *View) candidate(id SockID, s *Sock, q *Query) Candidate {
	c := Candidate{Sock: id, Score: -1, Exact: !s.wild()}
	accept := v.TCPL3mdevAccept
	if q.Proto == UDP {
		accept = v.UDPL3mdevAccept
	}
	e := entOf(id, s)
	switch {
	case !s.wild() && s.Laddr != q.Daddr:
		c.Why = "bound to " + s.Laddr.String()
	case q.V6 && e.base6 < 0:
		c.Why = "takes no IPv6"
	case !q.V6 && e.base4 < 0:
		c.Why = "takes no IPv4"
	case s.Flags&Connected != 0 && (s.Faddr != q.Saddr || s.Fport != q.Sport):
		c.Why = "connected to another remote"
	case !boundEq(accept, s.Bdi, q.Dif, q.Sdif):
		c.Why = "bound to another device"
		if s.Bdi == 0 {
			c.Why = "unbound, and the packet is in a VRF"
		}
	default:
		c.Score = e.score(q, accept)
	}
	return c
}

// Matches reports whether the rule applies to the query: the plain form of the
// compiled lookup.
func (r *Rule) Matches(q *Query) bool {
	a, src := q.Daddr.Netip(), q.Saddr.Netip()
	return r.Proto == q.Proto && (r.AnyVRF || r.VRF == q.VRF) && r.Low <= q.Dport && q.Dport <= r.Top &&
		(!r.Dst.IsValid() || r.Dst.Contains(a)) && (!r.Src.IsValid() || r.Src.Contains(src))
}
