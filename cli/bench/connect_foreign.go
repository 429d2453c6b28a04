package bench

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"edemux/flowtable"
)

// hashedSpace is a space whose search takes the hash of a candidate from
// somewhere else.
type hashedSpace interface {
	ConnectHashed(p *flowtable.Ports, c *flowtable.Connect, now int64, hash func(port uint16) uint32) (flowtable.Connected, error)
}

// foreignSearch is that search over what every table offers: a lookup of each
// candidate, which is dearer than Space.Connect's own look at one, so sides on
// it are a little worse off than they had to be.
type foreignSearch struct {
	s       *flowtable.Space
	secret  uint64
	perturb []atomic.Uint32 // table_perturb
}

func newForeignSearch(s *flowtable.Space, seed uint64) *foreignSearch {
	r := rand.New(rand.NewPCG(seed, 11))
	f := &foreignSearch{s: s, secret: r.Uint64(), perturb: make([]atomic.Uint32, 1<<16)}
	for i := range f.perturb {
		f.perturb[i].Store(r.Uint32())
	}
	return f
}

// ConnectHashed is __inet_hash_connect: an offset from a keyed hash of the peer
// and a perturbation that moves with every success (RFC 6056, algorithm 4),
// ports of one parity first, busy ones passed without taking a lock.
func (f *foreignSearch) ConnectHashed(_ *flowtable.Ports, c *flowtable.Connect, now int64, hash func(port uint16) uint32) (out flowtable.Connected, err error) {
	k := flowtable.Key{Laddr: c.Laddr, Faddr: c.Faddr, Fport: c.Fport}
	low, remaining := uint32(c.Low), (uint32(c.High)-uint32(c.Low)+1)&^1
	po := portOffset(f.secret, &k)
	slot := &f.perturb[uint16(po)]
	offset := (slot.Load() + uint32(po>>32)) % remaining &^ 1
	for parity := range uint32(2) {
		port := low + offset + parity
		for i := uint32(0); i < remaining; i, port = i+2, port+2 {
			if port >= low+remaining {
				port -= remaining
			}
			out.Candidates++
			out.Port, k.Lport = uint16(port), uint16(port)
			h := hash(k.Lport)
			if f.s.Lookup(h, &k, flowtable.Dev{}, now) != 0 {
				continue
			}
			if out.Ref, err = f.s.Insert(h, &k, c.Flow, now); errors.Is(err, flowtable.ErrExist) {
				continue
			}
			if err == nil {
				slot.Add(i + 2)
			}
			return out, err
		}
	}
	return out, flowtable.ErrAddrNotAvail
}

// portOffset stands for secure_ipv4_port_ephemeral: a keyed 64-bit hash of the
// addresses and the remote port.
func portOffset(secret uint64, k *flowtable.Key) uint64 {
	x := secret
	for _, w := range [...]uint64{k.Laddr.Hi, k.Laddr.Lo, k.Faddr.Hi, k.Faddr.Lo, uint64(k.Fport)} {
		hi, lo := bits.Mul64(x^w, portFactor)
		x = hi ^ lo
	}
	return x
}
