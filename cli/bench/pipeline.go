package bench

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"edemux/cli/gen"
	"edemux/dataplane"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// Pipeline are the options of `bench pipeline`.
type Pipeline struct {
	Flows   int
	Sink    string // count or touch
	Lcores  int
	Seconds float64 // measured time of one round
	Rounds  int
}

// PipelineRow is one line of `bench pipeline`.
type PipelineRow struct {
	Engine      string  `json:"engine"`
	Sink        string  `json:"sink"`
	Flows       int     `json:"flows"`
	Lcores      int     `json:"lcores"`
	Mpps        float64 `json:"mpps"`
	NsPerPacket float64 `json:"ns_per_packet"`
	HitRatio    float64 `json:"hit_ratio"`
	EarlyRatio  float64 `json:"early_ratio"`
	Allocs      float64 `json:"allocs_per_packet"`
}

// framesHeld is how many frames the source repeats at the least: as with a looped
// capture every flow has its turn, and few flows stay few frames.
const framesHeld = 1 << 10

// RunPipeline sends 60-byte UDP frames of connected flows, held in memory and
// in shuffled order, through the whole walk: parse and checks, early demux in
// exact mode, delivery, counters. The row is the median round.
func RunPipeline(o Pipeline) (*PipelineRow, error) {
	g := gen.Options{Flows: o.Flows, Packets: int64(max(framesHeld, o.Flows)), Order: "shuffle", Size: "60", Rate: 1e6}
	bytes, err := gen.Frames(g)
	if err != nil {
		return nil, err
	}
	frames := framesOf(bytes)
	e, err := pipelineEngine(g, o.Sink)
	if err != nil {
		return nil, err
	}
	sources := make([]*memorySource, o.Lcores)
	for i := range sources {
		sources[i] = &memorySource{frames: frames, at: i * len(frames) / o.Lcores}
	}
	lcores := make([]*dataplane.Lcore, o.Lcores)
	for i := range lcores {
		lcores[i] = e.NewLcore()
	}
	poll(lcores, sources, 200*time.Millisecond) // caches and route stamps
	rates := make([]float64, o.Rounds)
	before, mallocs := e.Counters(), mallocCount()
	for i := range rates {
		n, elapsed := poll(lcores, sources, time.Duration(o.Seconds*float64(time.Second)))
		rates[i] = float64(n) / elapsed.Seconds() / 1e6
	}
	mallocs = mallocCount() - mallocs
	after := e.Counters()
	slices.Sort(rates)
	row := &PipelineRow{Engine: "go", Sink: o.Sink, Flows: o.Flows, Lcores: o.Lcores, Mpps: rates[len(rates)/2]}
	row.NsPerPacket = 1e3 / row.Mpps * float64(o.Lcores)
	packets := float64(after.Frames - before.Frames)
	early := float64(after.VRFs[1].Paths[demux.PathEarly] - before.VRFs[1].Paths[demux.PathEarly])
	found := float64(after.VRFs[1].Paths[demux.PathEstablished] - before.VRFs[1].Paths[demux.PathEstablished])
	row.EarlyRatio, row.HitRatio = early/packets, (early+found)/packets
	// The rounds' own goroutines and timers are a few dozen objects.
	if mallocs > 1000 {
		row.Allocs = float64(mallocs) / packets
	}
	return row, nil
}

func mallocCount() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// pipelineEngine connects every flow that g makes to a worker.
func pipelineEngine(g gen.Options, sink string) (*dataplane.Engine, error) {
	handler := dataplane.HandleCount
	switch sink {
	case "count":
	case "touch":
		handler = dataplane.HandleTouch
	default:
		return nil, fmt.Errorf("--sink: %q: want count or touch", sink)
	}
	b := demux.NewBuilder(flowtable.Secret{7})
	if _, err := b.AddIface(demux.IfaceSpec{Name: "mem0", AnyVLAN: true}); err != nil {
		return nil, err
	}
	var tables []*flowtable.Table
	var spaces [2]*flowtable.Space
	for i, name := range []string{"tcp", "udp"} {
		t, err := flowtable.New(flowtable.Config{Name: name, Buckets: tableSize(g.Flows), Max: 1 << 24, Flows: 1 << 24, Hasher: b.Hasher})
		if err != nil {
			return nil, err
		}
		if spaces[i], err = t.Space("default", b.Hasher.Seed("default"), flowtable.Limits{}); err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	b.SetSpaces(0, spaces[0], spaces[1])
	b.SetSysctl(0, demux.DefaultSysctl())
	b.SetMatchExact(true)
	var flows []demux.FlowSpec
	err := gen.EachFlow(g, func(k flowtable.Key, tcp bool) {
		flows = append(flows, demux.FlowSpec{Key: k, Worker: uint32(len(flows) % 4)})
	})
	if err != nil {
		return nil, err
	}
	if _, err := b.AddFlows("flow", flows); err != nil {
		return nil, err
	}
	var workers []*dataplane.Worker
	for i := range 4 {
		workers = append(workers, dataplane.NewWorker("w", i, handler))
	}
	return dataplane.New(dataplane.Config{
		Hasher: b.Hasher, Builder: b, Tables: tables, Ports: []dataplane.Port{{Name: "mem0"}}, Workers: workers,
		Parse: packet.Options{VerifyIP: true}, LookAhead: true,
	})
}

// tableSize is a start size in buckets that needs no growth.
func tableSize(flows int) uint32 {
	n := uint32(256)
	for int(n) < flows/2 {
		n *= 2
	}
	return n
}

// memorySource repeats frames held in memory, which it hands over where they
// lie, as a port hands over its ring.
type memorySource struct {
	frames []packet.Frame
	at     int
}

func framesOf(bytes [][]byte) []packet.Frame {
	all := make([]packet.Frame, len(bytes))
	for i, d := range bytes {
		all[i] = packet.Frame{Data: d, WireLen: uint32(len(d)), Link: packet.LinkEthernet}
	}
	return all
}

// fill puts the next burst into b.
func (s *memorySource) fill(b *dataplane.Burst) {
	n := min(dataplane.BurstMax, len(s.frames)-s.at)
	b.N, b.Frames = n, s.frames[s.at:s.at+n]
	if s.at += n; s.at == len(s.frames) {
		s.at = 0
	}
}

// poll runs the lcores for a while and returns how many packets they took. The
// clock is read once per 256 bursts.
func poll(lcores []*dataplane.Lcore, sources []*memorySource, d time.Duration) (packets uint64, elapsed time.Duration) {
	counts := make([]uint64, len(lcores))
	start := time.Now()
	var wg sync.WaitGroup
	for i, l := range lcores {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b := dataplane.NewBurst()
			for now := int64(1); time.Since(start) < d; now++ {
				for range 256 {
					sources[i].fill(b)
					l.Walk(b, now)
					counts[i] += uint64(b.N)
				}
			}
		})
	}
	wg.Wait()
	elapsed = time.Since(start)
	for _, n := range counts {
		packets += n
	}
	return packets, elapsed
}
