package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"edemux/flowtable"
)

// portTable is a flow table filled by one hash. Tables do not ask where a hash
// comes from as long as they do not grow, so all sides use the same structure;
// those that differ only in how often they compute the hash use the same table.
type portTable struct {
	t   *flowtable.Table
	s   *flowtable.Space
	now atomic.Int64
}

// connector is one side of `bench connect`: the port search with one way of
// hashing its candidates.
type connector struct {
	method, hash string
	kind         kind

	*portTable
	ports *flowtable.Ports
	hs    *flowtable.Hasher
	seed  flowtable.Seed
	jh    jhashKeys
	open  flowtable.Connect // what to connect, but its deadline
	v6    bool

	hashed               hashedSpace
	candidates, connects atomic.Uint64
}

// kind is method and hash as the search switches on them.
type kind uint8

const (
	recomputedJhash kind = iota
	incrementalJhash
	mixedJhash
	recomputedOwn
	incrementalOwn
	mixedOwn
)

// portFactor is the multiplier of the local port where it goes through the
// multilinear hash like every other word.
const portFactor = 0x9e3779b97f4a7c15

// newConnector prepares side i and the table of its hash.
func newConnector(b *connectBench, i int) (*connector, error) {
	c := &connector{method: connectSides[i].method, hash: connectSides[i].hash, kind: kind(i), v6: b.v6}
	c.hs = flowtable.NewHasher(secretOf(b.o.Seed))
	c.seed = c.hs.Seed("default")
	c.ports = flowtable.NewPorts(secretOf(b.o.Seed + 1))
	r := rand.New(rand.NewPCG(b.o.Seed, 5))
	c.jh = jhashKeys{r.Uint32(), r.Uint32()}
	c.open = flowtable.Connect{
		Laddr: flowtable.V4(0x0a000001), Faddr: flowtable.V4(0xc0000201), Fport: 443,
		Low: uint16(b.o.Low), High: uint16(b.o.High), Flow: flowtable.Flow{Sock: 2},
	}
	if b.v6 {
		c.open.Laddr = flowtable.Addr{Hi: 0x20010db8 << 32, Lo: 1}
		c.open.Faddr = flowtable.Addr{Hi: 0x20010db8<<32 | 2, Lo: 0x1234 << 48}
	}
	layout := c.hash
	if c.method == "mixed" {
		layout += " mixed"
	}
	var err error
	if c.portTable = b.tables[layout]; c.portTable == nil {
		c.portTable = new(portTable)
		err = c.fill(b)
		if c.t != nil {
			b.tables[layout] = c.portTable
		}
	}
	if err != nil {
		return c, err
	}
	if h, ok := any(c.s).(hashedSpace); ok {
		c.hashed = h
	} else {
		c.hashed = newForeignSearch(c.s, b.o.Seed)
	}
	return c, nil
}

// fill makes the table, as large as growth would make it, with the flows that
// are there.
func (c *connector) fill(b *connectBench) (err error) {
	c.now.Store(lifetime)
	size := tableSize((b.o.High - b.o.Low + 1) * 8 / 3)
	if c.t, err = flowtable.New(flowtable.Config{Name: "connect", Buckets: size, Max: size, Flows: 4 * uint64(size), Hasher: c.hs}); err != nil {
		return err
	}
	if c.s, err = c.t.Space("default", c.seed, flowtable.Limits{}); err != nil {
		return err
	}
	k := flowtable.Key{Laddr: c.open.Laddr, Faddr: c.open.Faddr, Fport: c.open.Fport}
	for _, port := range b.taken {
		k.Lport = uint16(port)
		if _, err := c.s.Insert(c.hashOf(&k), &k, flowtable.Flow{Sock: 1}, lifetime); err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
	}
	return nil
}

// hashOf is the hash of a flow as this side computes it.
func (c *connector) hashOf(k *flowtable.Key) uint32 {
	switch c.kind {
	case recomputedJhash, incrementalJhash:
		return c.jh.ehashfn(k, 0) + uint32(k.Lport)
	case mixedJhash:
		return c.jh.ehashfn(k, k.Lport)
	case mixedOwn:
		return c.hs.Sum(c.seed+flowtable.Seed(portFactor*uint64(k.Lport)), k.Laddr, k.Faddr, k.Fport).Hash(0)
	}
	return c.hs.Sum(c.seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
}

// lifetime of the flows that connects make, ns: IPv4 deadlines count in units
// of 8 ns.
const lifetime = 64

// closeAll ends the flows of the last batch: they had a deadline.
func (c *connector) closeAll() { c.t.Expire(c.now.Add(lifetime)) }

// connectMany connects n times and stores the elapsed ns of each in lat when
// that is wanted.
func (c *connector) connectMany(n int, lat []float64) {
	o := c.open // each thread its own
	o.Flow.Deadline = c.now.Load() + lifetime
	hash := c.hasher()
	tried := 0
	for i := range n {
		if lat == nil {
			tried += c.connect(&o, hash)
			continue
		}
		start := time.Now()
		tried += c.connect(&o, hash)
		lat[i] = float64(time.Since(start))
	}
	c.candidates.Add(uint64(tried))
	c.connects.Add(uint64(n))
}

// connect is one connect: the product's for incremental with its own hash, else
// the same search that gets every candidate's hash from hash. It returns how
// many candidates it tried; that no port is free is a legal outcome. Where the
// holder of a bucket lost its core it starts again, as a caller would.
func (c *connector) connect(o *flowtable.Connect, hash func(port uint16) uint32) (tried int) {
	for {
		var out flowtable.Connected
		var err error
		if hash == nil {
			out, err = c.s.Connect(c.ports, o, o.Flow.Deadline-lifetime)
		} else {
			out, err = c.hashed.ConnectHashed(c.ports, o, o.Flow.Deadline-lifetime, hash)
		}
		tried += out.Candidates
		switch {
		case errors.Is(err, flowtable.ErrContended):
			runtime.Gosched()
		case err == nil || errors.Is(err, flowtable.ErrAddrNotAvail):
			return tried
		default:
			panic("bench connect: " + err.Error())
		}
	}
}

// hasher returns what computes the hash of a candidate, nil for the product's
// own way. The first call of incremental pays for the tuple, as the kernel's
// hash_port0 does.
func (c *connector) hasher() func(port uint16) uint32 {
	k := flowtable.Key{Laddr: c.open.Laddr, Faddr: c.open.Faddr, Fport: c.open.Fport}
	switch c.kind {
	case incrementalOwn:
		return nil
	case incrementalJhash:
		base := c.jh.ehashfn(&k, 0)
		return func(port uint16) uint32 { return base + uint32(port) }
	case recomputedJhash:
		return func(port uint16) uint32 { return c.jh.ehashfn(&k, 0) + uint32(port) }
	case mixedJhash:
		return func(port uint16) uint32 { return c.jh.ehashfn(&k, port) }
	}
	return func(port uint16) uint32 {
		k.Lport = port
		return c.hashOf(&k)
	}
}
