package bench

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"edemux/demux"
	"edemux/flowtable"
)

// Listen are the options of `bench listen`.
type Listen struct {
	Options
	Cases []listenCase
}

// listenCase is one set of listeners with several sets of rules.
type listenCase struct {
	listeners, vrfs int
	rules           []int
}

func (o *Listen) defaults() {
	rules := []int{0, 10, 1000, 100_000}
	o.Cases = []listenCase{
		{1, 1, []int{0}}, {1000, 1, rules}, {100_000, 1, rules}, {1_000_000, 1, []int{0, 10, 100_000}},
		{1000, 10, []int{0}}, {1000, 100, []int{0}}, {1000, 1000, []int{0, 10, 100_000}}, {100_000, 1000, []int{0, 10, 100_000}},
	}
	if o.Full {
		o.Cases = nil
		for _, l := range []int{1, 10, 100, 1000, 10_000, 100_000, 1_000_000} {
			for _, v := range []int{1, 10, 100, 1000} {
				o.Cases = append(o.Cases, listenCase{l, v, []int{0, 10, 100, 1000, 10_000, 100_000}})
			}
		}
	}
}

// ListenRow is one line of `bench listen`: the search for a TCP listener, after
// the established table has been searched.
type ListenRow struct {
	Listeners   int     `json:"listeners"`
	Rules       int     `json:"rules"`
	VRFs        int     `json:"vrfs"`
	Op          string  `json:"op"`
	NsPerLookup float64 `json:"ns_per_lookup"`
}

// RunListen looks listeners up. The sets of rules of one set of listeners take
// turns.
func RunListen(o Listen) (rows []*ListenRow, err error) {
	for _, c := range o.Cases {
		o.say("listen: %d listeners, %d VRFs", c.listeners, c.vrfs)
		for _, wild := range []bool{false, true} {
			if wild && c.listeners > 1 {
				break // both kinds are there already
			}
			more, err := o.run(c, wild)
			if err != nil {
				return nil, fmt.Errorf("%d listeners, %d VRFs: %w", c.listeners, c.vrfs, err)
			}
			rows = append(rows, more...)
		}
	}
	return rows, nil
}

// run measures one set of listeners under every set of rules.
func (o *Listen) run(c listenCase, wild bool) (rows []*ListenRow, err error) {
	b, err := listeners(c, wild, o.Seed)
	if err != nil {
		return nil, err
	}
	var sides []side
	for _, n := range c.rules {
		rules := listenRules(n, c, o.Seed)
		if err := b.SetRules(rules); err != nil {
			return nil, err
		}
		v := b.Publish()
		for _, op := range []string{"exact", "wildcard", "rule", "miss"} {
			q := listenQueries(v, c, rules, op, o.Seed)
			if len(q) == 0 {
				continue
			}
			s, err := listenSide(b, v, q, op)
			if err != nil {
				return nil, fmt.Errorf("%d rules, %s: %w", n, op, err)
			}
			sides = append(sides, s)
			rows = append(rows, &ListenRow{Listeners: c.listeners, Rules: n, VRFs: c.vrfs, Op: op})
		}
	}
	for i, ns := range compare(o.plan(15, 4*time.Millisecond), sides) {
		rows[i].NsPerLookup = round(median(ns))
	}
	return rows, nil
}

// wildMax is how many of a VRF's listeners are bound to the wildcard: a port
// each.
const wildMax = 16384

// listeners opens the listeners, in the VRFs in turn; of those of a VRF every
// other one is bound to the wildcard while ports last, the others to 16
// addresses of each port. A single one is of the kind asked for.
func listeners(c listenCase, wild bool, seed uint64) (*demux.Builder, error) {
	b := demux.NewBuilder(secretOf(seed))
	for v := range c.vrfs {
		i, err := b.AddVRF(vrfName(v))
		if err != nil {
			return nil, err
		}
		if _, err := b.AddIface(demux.IfaceSpec{Name: fmt.Sprintf("mem%d", v), Port: uint16(v), VRF: i}); err != nil {
			return nil, err
		}
	}
	for i := range c.listeners {
		v, n := i%c.vrfs, i/c.vrfs
		addr, port := netip.IPv4Unspecified(), uint16(1024+n/2)
		if n%2 == 0 && !(wild && c.listeners == 1) || n/2 >= wildMax {
			addr, port = netip.AddrFrom4([4]byte{10, 0, byte(n >> 12 & 0xf0 >> 4), byte(n)}), uint16(32768+n>>8)
		}
		_, err := b.Add(&demux.Spec{
			Name: fmt.Sprintf("l%d", i), Proto: demux.TCP, Listen: true, IncomingCPU: -1, Dev: vrfName(v), Bind: netip.AddrPortFrom(addr, port),
		})
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// listenRules are prefixes of 16 to 32 bits from 100.0.0.0 up, where no listener
// is, with a range of ports each, in every VRF: what a packet has to pass then
// hangs on the number of rules only.
func listenRules(n int, c listenCase, seed uint64) []demux.Rule {
	r := rand.New(rand.NewPCG(seed, 8))
	rules := make([]demux.Rule, n)
	for i := range rules {
		a := netip.AddrFrom4([4]byte{byte(100 + r.IntN(100)), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
		rules[i] = demux.Rule{
			Proto: demux.TCP, AnyVRF: true, Dst: netip.PrefixFrom(a, 16+r.IntN(17)).Masked(),
			Low: uint16(2 + r.IntN(30000)), Top: 65535, Socket: demux.SockID(1 + r.IntN(c.listeners)),
		}
	}
	return rules
}

// destinations is how many of them take turns: what a host talks to at a time.
const destinations = 4096

// destination is what a lookup asks for.
type destination struct {
	addr flowtable.Addr
	port uint16
	vrf  uint16
}

// listenQueries are packets to random listeners, to addresses of random rules,
// or to where rules lie but nobody takes them.
func listenQueries(v *demux.View, c listenCase, rules []demux.Rule, op string, seed uint64) (out []destination) {
	r := rand.New(rand.NewPCG(seed, 9))
	random := func() flowtable.Addr { return flowtable.V4(100<<24 + r.Uint32N(100)<<24 | r.Uint32()>>8) }
	var socks []*demux.Sock
	v.Socks(func(_ demux.SockID, s *demux.Sock) bool {
		if s.Laddr.IsAny() == (op == "wildcard") {
			socks = append(socks, s)
		}
		return true
	})
	for range destinations {
		switch op {
		case "exact", "wildcard":
			if len(socks) == 0 {
				return nil
			}
			s := socks[r.IntN(len(socks))]
			d := destination{s.Laddr, s.Lport, s.VRF}
			if op == "wildcard" {
				d.addr = flowtable.V4(10<<24 | 1<<20 | r.Uint32N(1<<20)) // no exact listener there
			}
			out = append(out, d)
		case "rule":
			if len(rules) == 0 {
				return nil
			}
			u := &rules[r.IntN(len(rules))]
			host := r.Uint32() & (1<<(32-u.Dst.Bits()) - 1)
			out = append(out, destination{flowtable.V4(flowtable.AddrFrom(u.Dst.Addr()).As4() | host), u.Top, uint16(1 + r.IntN(c.vrfs))})
		case "miss":
			out = append(out, destination{random(), 1, uint16(1 + r.IntN(c.vrfs))})
		}
	}
	return out
}

// listenSide looks the destinations up, one query reused as an lcore does.
func listenSide(b *demux.Builder, v *demux.View, dst []destination, op string) (side, error) {
	q := demux.Query{Proto: demux.TCP, Hasher: b.Hasher, Saddr: flowtable.V4(0xc0000201), Sport: 40000, CPU: -1}
	devs := make([]*demux.Iface, len(v.VRFs))
	for i := range len(v.VRFs) - 1 {
		devs[i+1] = v.IfaceByName(fmt.Sprintf("mem%d", i))
	}
	at := 0
	lookup := func() demux.Result {
		d := &dst[at]
		if at++; at == len(dst) {
			at = 0
		}
		i := devs[d.vrf]
		q.Reset()
		q.Daddr, q.Dport, q.VRF, q.Dif, q.Sdif = d.addr, d.port, d.vrf, i.Dif, i.Sdif
		return v.TCPListener(&q)
	}
	want := map[string]demux.Path{"exact": demux.PathListener, "wildcard": demux.PathListener, "rule": demux.PathRule}[op]
	for range dst {
		if r := lookup(); r.Path != want {
			return side{}, fmt.Errorf("path %v, not %v", r.Path, want)
		}
	}
	return side{run: func(n int) int {
		for range n {
			lookup()
		}
		return n
	}}, nil
}
