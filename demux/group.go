package demux

import (
	"edemux/demux/cbpf"
)

// Group is a reuseport group as lookups see it. The slots' contents decide who
// gets what: index order is bind order (UDP) or listen order (TCP), and a
// member that leaves is replaced by the last one, as in the kernel.
type Group struct {
	Name   string
	Prog   *cbpf.Program // nil: the hash chooses
	socks  []SockID
	closed []SockID // closed listeners whose requests may migrate

	bindAny  bool // bound to a wildcard
	hasConns bool // a member connected once: never cleared
	cpus     int  // members with SO_INCOMING_CPU, closed ones included
	plain    bool // no member is connected or has a CPU: the hash alone decides
}

// Members returns the live members by index. Not to be changed.
func (g *Group) Members() []SockID { return g.socks }

// HasConns reports the kernel's has_conns flag.
func (g *Group) HasConns() bool { return g.hasConns }

// scale is reciprocal_scale: h of [0, 2^32) to [0, n).
func scale(h uint32, n int) int { return int(uint64(h) * uint64(n) >> 32) }

// pick is reuseport_select_sock for group gi (1 + index). bit says which hash
// the lookup hands over: haveWild on the wildcard pass, else haveOwn. A Result
// without a socket is the kernel's NULL.
func (v *View) pick(gi uint32, q *Query, bit uint8) Result {
	g := v.groups[gi-1]
	n := len(g.socks)
	if n == 0 {
		return Result{}
	}
	by := ByHash
	if g.Prog != nil && !q.NoProg && q.Prog != nil {
		if i := g.Prog.Run(q.Prog); i < uint32(n) {
			q.save(bit)
			return Result{Sock: g.socks[i], Group: gi, Member: int32(i), By: ByProgram}
		}
		by = ByFallback
	}
	i := 0
	if n == 1 {
		q.save(bit) // one member: no hash can choose another
	} else {
		i = scale(v.hash(q, bit), n)
	}
	if g.plain {
		return Result{Sock: g.socks[i], Group: gi, Member: int32(i), By: by}
	}
	return v.pickFrom(g, gi, i, q.CPU, by)
}

// hash computes the hash named by bit, at most once per packet.
func (v *View) hash(q *Query, bit uint8) uint32 {
	vrf := &v.VRFs[q.VRF]
	if bit == haveWild {
		return q.wildSum(vrf).Hash(q.Dport)
	}
	return q.ownSum(vrf).Hash(q.Dport)
}

// pickFrom is reuseport_select_sock_by_hash from index i on: the first member
// pinned to this CPU, else the first that is not connected.
func (v *View) pickFrom(g *Group, gi uint32, i int, cpu int32, by By) Result {
	var first Result
	for range g.socks {
		id := g.socks[i]
		if s := v.socks.at(id); s.Flags&Connected == 0 {
			r := Result{Sock: id, Group: gi, Member: int32(i), By: by}
			if g.cpus == 0 {
				return r
			}
			if s.IncomingCPU == cpu && cpu >= 0 {
				r.By = ByCPU
				return r
			}
			if first.Sock == 0 {
				first = r
			}
		}
		if i++; i == len(g.socks) {
			i = 0
		}
	}
	return first
}

// Migrate is reuseport_migrate_sock without a program: the listener that takes
// over the requests of the closed listener old, 0 when there is none or
// tcp_migrate_req is off. hash is that of the request's flow.
func (v *View) Migrate(old SockID, hash uint32) SockID {
	s := v.Sock(old)
	if s.Group == 0 || !v.VRFs[s.VRF].Sysctl.TCPMigrateReq {
		return 0
	}
	g := v.groups[s.Group-1]
	if g == nil || len(g.socks) == 0 {
		return 0
	}
	return v.pickFrom(g, s.Group, scale(hash, len(g.socks)), -1, ByHash).Sock
}
