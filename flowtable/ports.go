package flowtable

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dchest/siphash"
)

// PortSet is a set of port numbers, as ip_local_reserved_ports holds it.
type PortSet [1 << 16 / 64]uint64

// Add puts p into the set.
func (s *PortSet) Add(p uint16) { s[p>>6] |= 1 << (p & 63) }

// Has reports whether p is in the set. A nil set is empty.
func (s *PortSet) Has(p uint16) bool { return s != nil && s[p>>6]>>(p&63)&1 != 0 }

// Len returns the number of ports in the set.
func (s *PortSet) Len() (n int) {
	for i := range s {
		n += bits.OnesCount64(s[i])
	}
	return n
}

// ParsePorts reads the form of ip_local_reserved_ports: "8080,9000-9010".
func ParsePorts(list string) (*PortSet, error) {
	s := new(PortSet)
	for _, f := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		from, to, isRange := strings.Cut(f, "-")
		lo, err := strconv.ParseUint(from, 10, 16)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.ParseUint(to, 10, 16)
		}
		if err != nil || hi < lo {
			return nil, fmt.Errorf("port list: %q is no port and no range", f)
		}
		for p := lo; p <= hi; p++ {
			s.Add(uint16(p))
		}
	}
	return s, nil
}

// perturbSize is INET_TABLE_PERTURB_SIZE.
const perturbSize = 1 << 16

// seedTime is how long a port offset stays the same for one peer, ns.
const seedTime = 10_000_000_000

// Ports is the process-wide state of source-port selection: the keyed hash and
// the perturbation table of RFC 6056, algorithm 4, that all spaces share, as
// all network namespaces do. Deterministic for one secret, one order of calls
// and one clock. Safe for any number of threads.
type Ports struct {
	k0, k1  uint64
	rnd     atomic.Uint64
	perturb [perturbSize]atomic.Uint32
}

// NewPorts fills the table from the secret.
func NewPorts(s Secret) *Ports {
	p := &Ports{k0: binary.LittleEndian.Uint64(s[:8]), k1: binary.LittleEndian.Uint64(s[8:])}
	p.rnd.Store(siphash.Hash(p.k0, p.k1, []byte("source ports")))
	for i := range p.perturb {
		p.perturb[i].Store(uint32(p.random()))
	}
	return p
}

// random is SplitMix64 over an atomic counter.
func (p *Ports) random() uint64 {
	z := p.rnd.Add(0x9e3779b97f4a7c15)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// offset is secure_ipv4_port_ephemeral and its twin: where the search for a
// port to this peer starts, the same for ten seconds.
func (p *Ports) offset(laddr, faddr Addr, fport uint16, now int64) uint64 {
	var b [40]byte
	binary.BigEndian.PutUint64(b[0:], laddr.Hi)
	binary.BigEndian.PutUint64(b[8:], laddr.Lo)
	binary.BigEndian.PutUint64(b[16:], faddr.Hi)
	binary.BigEndian.PutUint64(b[24:], faddr.Lo)
	binary.BigEndian.PutUint64(b[32:], uint64(now/seedTime)<<16|uint64(fport))
	return siphash.Hash(p.k0, p.k1, b[:])
}

// PortHash is a hash that is linear over XOR in the port, as the Toeplitz hash
// of RSS is in each of its inputs: the value of a candidate follows from that
// of port 0 by two table look-ups.
type PortHash struct {
	base   uint32
	hi, lo [256]uint32
}

// NewPortHash tabulates f, of which it asks 17 values.
func NewPortHash(f func(port uint16) uint32) *PortHash {
	h := &PortHash{base: f(0)}
	for bit := range 8 {
		lo, hi := f(1<<bit)^h.base, f(1<<(bit+8))^h.base
		for v := range 256 {
			if v>>bit&1 != 0 {
				h.lo[v] ^= lo
				h.hi[v] ^= hi
			}
		}
	}
	return h
}

// Hash returns f(port).
func (h *PortHash) Hash(port uint16) uint32 { return h.base ^ h.hi[port>>8] ^ h.lo[port&255] }

// PortQueue asks for a port whose replies arrive on a queue: the RSS hash of
// the reply, its local port being the candidate, selects the queue from the
// redirection table, whose length is a power of two.
type PortQueue struct {
	Hash  *PortHash
	Reta  []uint16
	Queue uint16
}

func (q *PortQueue) wants(port uint16) bool {
	return q.Reta[q.Hash.Hash(port)&uint32(len(q.Reta)-1)] == q.Queue
}
