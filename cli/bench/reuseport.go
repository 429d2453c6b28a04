package bench

import (
	"fmt"
	"net/netip"
	"time"

	"edemux/cli/gen"
	"edemux/dataplane"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// Reuseport are the options of `bench reuseport`.
type Reuseport struct {
	Options
	Families []string
	Members  []int
}

func (o *Reuseport) defaults() {
	o.Families, o.Members = []string{"v4", "v6"}, []int{1, 2, 3, 4, 5, 6}
}

// ReuseportRow is one line of `bench reuseport`. A lazy row's gain is its rate
// over that of the eager row before it, with the interval of the gain; hash_ns
// is the hash of the same packets and nothing else; hash_computed and
// hash_saved are the walk's own counters, for each packet.
type ReuseportRow struct {
	Family   string  `json:"family"`
	Members  int     `json:"members"`
	Program  string  `json:"program"`
	Hash     string  `json:"hash"`
	Mpps     float64 `json:"mpps"`
	NsSaved  float64 `json:"ns_saved"`
	HashNs   float64 `json:"hash_ns"`
	Gain     float64 `json:"gain"`
	Low      float64 `json:"ci_low"`
	High     float64 `json:"ci_high"`
	Computed float64 `json:"hash_computed"`
	Saved    float64 `json:"hash_saved"`
}

// RunReuseport floods a group of unconnected UDP sockets, through the whole
// walk. Eager is the walk that computes the flow hash before the group is
// asked, as Linux does; lazy is the product.
func RunReuseport(o Reuseport) (rows []*ReuseportRow, err error) {
	for _, family := range o.Families {
		frames, err := floodFrames(family, o.Seed)
		if err != nil {
			return nil, err
		}
		for _, members := range o.Members {
			for _, program := range []string{"none", "cbpf", "failing"} {
				o.say("reuseport: %s, %d members, %s", family, members, program)
				g, err := newGroupBench(family, members, program, frames)
				if err != nil {
					return nil, err
				}
				rows = append(rows, g.measure(&o)...)
				g.close()
			}
		}
	}
	return rows, nil
}

// floodFrames are datagrams of 4096 remotes to one port.
func floodFrames(family string, seed uint64) ([]packet.Frame, error) {
	g := gen.Options{Flows: 4096, Packets: framesHeld / 4, Order: "shuffle", Family: family, Size: "60", Rate: 1e6, Seed: seed}
	if family == "v6" {
		g.Size = "80"
	}
	b, err := gen.Frames(g)
	return framesOf(b), err
}

// groupBench is one group and two lcores that walk over it.
type groupBench struct {
	ReuseportRow
	e      *dataplane.Engine
	tables []*flowtable.Table
	hs     *flowtable.Hasher
	seed   flowtable.Seed
	src    [3]memorySource // eager, lazy, hash alone
	b      *dataplane.Burst
	now    int64
	sum    uint32
}

// groupProgram is nil for none, a program that chooses by the first word of the
// payload, or one that names a member that is not there.
func groupProgram(program string, members int) (*cbpf.Program, error) {
	switch program {
	case "cbpf":
		return cbpf.Assemble(fmt.Sprintf("ld [0]; mod #%d; ret a", members))
	case "failing":
		return cbpf.Assemble(fmt.Sprintf("ld [0]; or #%d; ret a", 1<<16))
	}
	return nil, nil
}

func newGroupBench(family string, members int, program string, frames []packet.Frame) (*groupBench, error) {
	g := &groupBench{ReuseportRow: ReuseportRow{Family: family, Members: members, Program: program}, b: dataplane.NewBurst()}
	b := demux.NewBuilder(secretOf(0))
	g.hs, g.seed = b.Hasher, b.Hasher.Seed("default")
	if _, err := b.AddIface(demux.IfaceSpec{Name: "mem0", AnyVLAN: true}); err != nil {
		return nil, err
	}
	var err error
	if g.tables, err = emptySpaces(b, 1024, 1024); err != nil {
		return nil, err
	}
	b.SetMatchExact(true)
	// The address that the flood goes to: a wildcard group's hash is another one.
	bind := netip.MustParseAddrPort("10.0.0.1:9000")
	if family == "v6" {
		bind = netip.MustParseAddrPort("[2001:db8::1]:9000")
	}
	prog, err := groupProgram(program, members)
	if err != nil {
		return nil, err
	}
	var workers []*dataplane.Worker
	for i := range members {
		workers = append(workers, dataplane.NewWorker("w", i, dataplane.HandleCount))
		id, err := b.Add(&demux.Spec{
			Name: fmt.Sprintf("s%d", i), Proto: demux.UDP, Bind: bind, Reuseport: true, IncomingCPU: -1, Worker: uint32(i),
		})
		if err != nil {
			return nil, err
		}
		if i == members-1 && prog != nil {
			if err := b.Attach(id, prog); err != nil {
				return nil, err
			}
		}
	}
	g.e, err = dataplane.New(dataplane.Config{
		Hasher: b.Hasher, Builder: b, Tables: g.tables, Ports: []dataplane.Port{{Name: "mem0"}}, Workers: workers,
		Parse: packet.Options{VerifyIP: true}, LookAhead: true,
	})
	for i := range g.src {
		g.src[i] = memorySource{frames: frames}
	}
	return g, err
}

// emptySpaces gives VRF default its two tables, of so many buckets and for at
// most so many flows.
func emptySpaces(b *demux.Builder, buckets uint32, flows uint64) (tables []*flowtable.Table, err error) {
	var spaces [2]*flowtable.Space
	for i, name := range []string{"tcp", "udp"} {
		t, err := flowtable.New(flowtable.Config{Name: name, Buckets: buckets, Max: max(buckets, 1<<24), Flows: flows, Hasher: b.Hasher, Inline: true})
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
		if spaces[i], err = t.Space("default", b.Hasher.Seed("default"), flowtable.Limits{}); err != nil {
			return nil, err
		}
	}
	b.SetSpaces(0, spaces[0], spaces[1])
	return tables, nil
}

func (g *groupBench) close() {
	for _, t := range g.tables {
		t.Close()
	}
}

// walker is a side that walks the frames of src.
func (g *groupBench) walker(l *dataplane.Lcore, src *memorySource, variant dataplane.Variant) side {
	return side{run: func(n int) (done int) {
		for done < n {
			g.now++
			src.fill(g.b)
			if variant == 0 {
				l.Walk(g.b, g.now)
			} else {
				l.WalkVariant(g.b, g.now, variant)
			}
			done += g.b.N
		}
		return done
	}}
}

// hashes is the hash alone, over the same bursts: parsed outside the measured
// time, one burst after the other.
func (g *groupBench) hashes() side {
	metas := make([]packet.Meta, len(g.src[2].frames))
	for i := range metas {
		packet.Parse(&g.src[2].frames[i], &packet.Options{}, &metas[i])
	}
	at := 0
	return side{run: func(n int) (done int) {
		for done < n {
			for i := range metas[at : at+burst] {
				m := &metas[at+i]
				g.sum += g.hs.Sum(g.seed, m.Daddr, m.Saddr, m.Sport).Hash(m.Dport)
			}
			done += burst
			if at += burst; at == len(metas) {
				at = 0
			}
		}
		return done
	}}
}

// measure gives the eager row and the lazy one.
func (g *groupBench) measure(o *Reuseport) []*ReuseportRow {
	eager, lazy := g.ReuseportRow, g.ReuseportRow
	eager.Hash, lazy.Hash = "eager", "lazy"
	l := g.e.NewLcore()
	sides := []side{g.walker(l, &g.src[0], dataplane.EagerHash), g.walker(l, &g.src[1], 0), g.hashes()}
	eager.Computed, eager.Saved = g.counted(sides[0])
	lazy.Computed, lazy.Saved = g.counted(sides[1])
	ns := compare(o.plan(61, 3*time.Millisecond), sides)
	hash := round(median(ns[2]))
	eager.Mpps, lazy.Mpps = round(1e3/median(ns[0])), round(1e3/median(ns[1]))
	eager.HashNs, lazy.HashNs = hash, hash
	eager.Gain, eager.Low, eager.High = 1, 1, 1
	saved, gain := make([]float64, len(ns[0])), ratios(ns[0], ns[1])
	for i := range saved {
		saved[i] = ns[0][i] - ns[1][i]
	}
	lazy.NsSaved, lazy.Gain = round(median(saved)), round(median(gain))
	low, high := bootstrap(gain, o.Seed)
	lazy.Low, lazy.High = round(low), round(high)
	return []*ReuseportRow{&eager, &lazy}
}

// counted runs a side over every frame and returns the hashes computed and
// saved for each packet.
func (g *groupBench) counted(s side) (computed, saved float64) {
	was := g.e.Counters()
	s.run(len(g.src[0].frames))
	is := g.e.Counters()
	n := float64(is.Frames - was.Frames)
	return round(float64(is.HashComputed-was.HashComputed) / n), round(float64(is.HashSaved-was.HashSaved) / n)
}
