package bench

import (
	"fmt"
	"time"

	"edemux/dataplane"
	"edemux/dataplane/mib"
	"edemux/demux"
)

// Early are the options of `bench earlydemux`.
type Early struct {
	Options
	Sockets int // connected sockets that are there
	Cases   []earlyCase
}

// earlyCase is one kind of traffic, measured with every mode and switch.
type earlyCase struct {
	family, proto, traffic, sources, footprint string
	routes                                     int
}

// EarlyRow is one line of `bench earlydemux`. Gain is this row's rate over that
// of the row with early demux off and the other fields equal.
type EarlyRow struct {
	Family      string  `json:"family"`
	Proto       string  `json:"proto"`
	Traffic     string  `json:"traffic"`
	Sources     string  `json:"sources"`
	Footprint   string  `json:"footprint"`
	Routes      count   `json:"routes"`
	Mode        string  `json:"mode"`
	EarlyDemux  string  `json:"early_demux"`
	Mpps        float64 `json:"mpps"`
	NsPerPacket float64 `json:"ns_per_packet"`
	Gain        float64 `json:"gain"`
	Low         float64 `json:"ci_low"`
	High        float64 `json:"ci_high"`
}

// count is a number that people read as 1, 1k or 1M.
type count int

func (c count) String() string {
	switch {
	case c >= 1_000_000 && c%1_000_000 == 0:
		return fmt.Sprintf("%dM", int(c)/1_000_000)
	case c >= 1000 && c%1000 == 0:
		return fmt.Sprintf("%dk", int(c)/1000)
	}
	return fmt.Sprint(int(c))
}

// earlyFlows is how many flows a table of a footprint holds, and how many of
// them packets come from.
var earlyFlows = map[string][2]int{"L2": {10_000, 2_048}, "LLC": {131_072, 65_536}, "DRAM": {2_097_152, 1_048_576}}

func (o *Early) defaults() {
	o.Sockets = 10_000
	routes := []int{1, 1000, 1_000_000}
	for _, family := range []string{"v4", "v6"} {
		for _, footprint := range []string{"L2", "LLC", "DRAM"} {
			for _, proto := range []string{"udp", "tcp"} {
				for _, traffic := range []string{"connected", "unconnected", "forward"} {
					for _, sources := range []string{"many", "one"} {
						for _, n := range routes {
							c := earlyCase{family, proto, traffic, sources, footprint, n}
							if o.Full || c.quick() {
								o.Cases = append(o.Cases, c)
							}
						}
					}
				}
			}
		}
	}
}

// quick tells the rows of the default run: routes matter to what is routed,
// one source and TCP where everything is near.
func (c *earlyCase) quick() bool {
	switch {
	case c.routes != 1 && (c.traffic != "forward" || c.sources == "one"):
		return false
	case c.sources == "one":
		return c.footprint == "L2" && c.proto == "udp"
	case c.proto == "tcp":
		return c.footprint == "L2" && c.routes == 1
	}
	return c.traffic != "forward" || c.routes != 1000 || c.footprint == "L2"
}

// modes are the sides: how Linux does it, the product, and a walk that has no
// early demux.
var earlyModes = []struct {
	mode    string
	on      bool
	variant dataplane.Variant
}{
	{"fused", false, 0}, {"fused", true, 0},
	{"linux", false, dataplane.LikeLinux}, {"linux", true, dataplane.LikeLinux},
	{"absent", false, dataplane.NoEarlyDemux},
}

// RunEarly measures the whole walk on traffic that early demux helps, does not
// help, or must not touch. Modes and switch positions take turns in one engine.
func RunEarly(o Early) (rows []*EarlyRow, err error) {
	var w *earlyWalk
	defer func() { w.close() }()
	for _, c := range o.Cases {
		o.say("earlydemux: %s %s, %s, %s", c.family, c.proto, c.traffic, c.footprint)
		if w == nil || w.family != c.family || w.footprint != c.footprint {
			w.close()
			if w, err = newEarlyWalk(&o, c.family, c.footprint); err != nil {
				return nil, err
			}
		}
		more, err := w.measure(&o, c)
		if err != nil {
			return nil, fmt.Errorf("%+v: %w", c, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// measure gives the rows of one case.
func (w *earlyWalk) measure(o *Early, c earlyCase) (rows []*EarlyRow, err error) {
	if err := w.setRoutes(c.routes); err != nil {
		return nil, err
	}
	frames := w.frames(c)
	sides := make([]side, len(earlyModes))
	for i, m := range earlyModes {
		src := &memorySource{frames: frames, at: len(frames) / burst * i / len(earlyModes) * burst}
		sides[i] = side{
			before: func() { w.toggle(c.proto, m.on, m.variant) },
			run:    func(n int) int { return w.run(src, n, m.variant) },
		}
		sides[i].before()
		sides[i].run(len(frames)) // stamps the flows' routes
		if err := w.check(c, m.on, src, m.variant); err != nil {
			return nil, fmt.Errorf("%s, early demux %v: %w", m.mode, m.on, err)
		}
	}
	ns := compare(o.plan(31, 3*time.Millisecond), sides)
	off := map[string]int{}
	for i, m := range earlyModes {
		if !m.on {
			off[m.mode] = i
		}
	}
	for i, m := range earlyModes {
		r := &EarlyRow{
			Family: c.family, Proto: c.proto, Traffic: c.traffic, Sources: c.sources, Footprint: c.footprint, Routes: count(c.routes),
			Mode: m.mode, EarlyDemux: "off", NsPerPacket: round(median(ns[i])), Gain: 1, Low: 1, High: 1,
		}
		r.Mpps = round(1e3 / median(ns[i]))
		if m.on {
			gain := ratios(ns[off[m.mode]], ns[i])
			low, high := bootstrap(gain, o.Seed)
			r.EarlyDemux, r.Gain, r.Low, r.High = "on", round(median(gain)), round(low), round(high)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// check walks the frames once more and looks where they went.
func (w *earlyWalk) check(c earlyCase, on bool, src *memorySource, v dataplane.Variant) error {
	was := w.e.Counters()
	n := uint64(w.run(src, len(src.frames), v))
	is := w.e.Counters()
	path := func(p demux.Path) uint64 { return is.VRFs[1].Paths[p] - was.VRFs[1].Paths[p] }
	verdict := func(v mib.Verdict) uint64 { return is.VRFs[1].Verdicts[v] - was.VRFs[1].Verdicts[v] }
	var got uint64
	switch {
	case c.traffic == "forward":
		got = verdict(mib.Forward)
	case c.traffic == "unconnected" && c.proto == "tcp": // a segment of no flow, for a listener
		got = verdict(mib.Drop)
	case c.traffic == "unconnected":
		got = path(demux.PathListener)
	case on:
		got = path(demux.PathEarly)
	default:
		got = path(demux.PathEstablished)
	}
	if got != n {
		return fmt.Errorf("%d of %d packets went where they should: %+v", got, n, is.VRFs[1].Verdicts)
	}
	return nil
}
