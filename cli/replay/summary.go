package replay

import (
	"encoding/json"
	"strconv"

	"edemux/dataplane"
	"edemux/dataplane/mib"
	"edemux/demux"
)

// Schema names the format of Summary.
const Schema = "edemux.replay/1"

// Summary is the JSON report of a replay. All keys are always present. The
// fields of Timing are the only ones that may differ between two runs.
type Summary struct {
	Schema     string               `json:"schema"`
	Input      Input                `json:"input"`
	Verdicts   map[string]uint64    `json:"verdicts"`
	Copies     uint64               `json:"copies"`
	Paths      map[string]uint64    `json:"paths"`
	Drops      map[string]uint64    `json:"drops"`
	EarlyDemux EarlyDemux           `json:"early_demux"`
	Hash       HashCount            `json:"hash"`
	VRFs       map[string]VRF       `json:"vrfs"`
	Workers    map[string]Worker    `json:"workers"`
	Groups     map[string]Group     `json:"groups"`
	Flows      Flows                `json:"flows"`
	MIB        map[string]uint64    `json:"mib"`
	Ports      map[string]PortCount `json:"ports"`
	Timing
}

// Timing is what may differ between runs of the same input.
type Timing struct {
	Elapsed float64 `json:"elapsed_s"`
	PPS     float64 `json:"pps"`
	Engine  string  `json:"engine"`
	Lcores  int     `json:"lcores"`
}

// Input counts what was read. Bytes are lengths on the wire.
type Input struct {
	Frames   uint64 `json:"frames"`
	Bytes    uint64 `json:"bytes"`
	Captures int    `json:"captures"`
}

// PortCount are the verdicts of one port.
type PortCount struct {
	Verdicts map[string]uint64 `json:"verdicts"`
}

// EarlyDemux says what early demux looked at and found.
type EarlyDemux struct {
	TCP      EarlyProto        `json:"tcp"`
	UDP      EarlyProto        `json:"udp"`
	NotTried map[string]uint64 `json:"not_tried"`
}

// EarlyProto is early demux of one protocol. RouteSkipped are the hits that
// saved the route lookup.
type EarlyProto struct {
	Tried        uint64 `json:"tried"`
	Hit          uint64 `json:"hit"`
	RouteSkipped uint64 `json:"route_skipped"`
}

// HashCount counts flow hashes: computed, and those that were not needed.
type HashCount struct {
	Computed uint64 `json:"computed"`
	Saved    uint64 `json:"saved"`
}

// VRF is the share of one VRF; "-" holds what was decided before a VRF was known.
type VRF struct {
	Verdicts   map[string]uint64 `json:"verdicts"`
	Paths      map[string]uint64 `json:"paths"`
	Drops      map[string]uint64 `json:"drops"`
	EarlyDemux EarlyDemux        `json:"early_demux"`
	Flows      uint64            `json:"flows"`
}

// Worker is what one worker was given.
type Worker struct {
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

// Group says how a reuseport group chose among its members.
type Group struct {
	Members  int               `json:"members"`
	Selected map[string]uint64 `json:"selected"`
	By       map[string]uint64 `json:"by"`
}

// Flows are the accounts of the flow tables. Live are entries that had not
// expired at the time of the last packet.
type Flows struct {
	Created    uint64 `json:"created"`
	Expired    uint64 `json:"expired"`
	Live       uint64 `json:"live"`
	TableBytes uint64 `json:"table_bytes"`
	RSTIgnored uint64 `json:"rst_ignored"`
	Evicted    uint64 `json:"evicted"`
}

// Summarize builds the report from the counters of an engine at rest.
func Summarize(e *dataplane.Engine, in Input) *Summary {
	c := e.Counters()
	v := e.View()
	s := &Summary{
		Schema: Schema, Input: in, Copies: c.Copies,
		Hash:    HashCount{c.HashComputed, c.HashSaved},
		VRFs:    map[string]VRF{},
		Workers: map[string]Worker{},
		Groups:  map[string]Group{},
		Ports:   map[string]PortCount{},
		MIB:     map[string]uint64{},
	}
	var sum dataplane.VRFCounters
	flows := e.VRFFlows()
	for i := range c.VRFs {
		name := "-"
		var live uint64
		if i > 0 {
			name = v.VRFs[i-1].Name
			live = flows[i-1]
		} else if !counted(&c.VRFs[0]) {
			continue
		}
		s.VRFs[name] = vrfSummary(&c.VRFs[i], live)
		sum.Add(&c.VRFs[i])
		s.Flows.Live += live
	}
	total := vrfSummary(&sum, 0)
	s.Verdicts, s.Paths, s.Drops, s.EarlyDemux = total.Verdicts, total.Paths, total.Drops, total.EarlyDemux
	for i, w := range e.Workers() {
		s.Workers[w.Name] = Worker{c.Workers[i].Packets, c.Workers[i].Bytes}
	}
	for i, p := range e.Ports() {
		s.Ports[p.Name] = PortCount{verdictMap(&c.Ports[i])}
	}
	for i := range c.MIB {
		if n := c.MIB[i]; n > 0 {
			s.MIB[mib.Counter(i).String()] = n
		}
	}
	s.groups(c, v, e.GroupNames())
	f := &c.Flows
	s.Flows.Created, s.Flows.RSTIgnored, s.Flows.Evicted = f.Created, f.RSTIgnored, f.Evicted
	s.Flows.Expired = f.Created - f.Removed - f.Evicted - s.Flows.Live
	s.Flows.TableBytes = e.TableBytes()
	return s
}

func (s *Summary) groups(c *dataplane.Counters, v *demux.View, names []string) {
	for i, name := range names {
		g := Group{Members: v.GroupSize(i), Selected: map[string]uint64{}, By: map[string]uint64{}}
		for m := range g.Members {
			g.Selected[strconv.Itoa(m)] = 0
		}
		for m, n := range c.Groups[i].Selected {
			if n > 0 {
				g.Selected[strconv.Itoa(m)] = n
			}
		}
		for by := demux.ByNone + 1; by < demux.NBy; by++ {
			g.By[by.String()] = c.Groups[i].By[by]
		}
		s.Groups[name] = g
	}
}

func counted(v *dataplane.VRFCounters) bool {
	for _, n := range v.Verdicts {
		if n > 0 {
			return true
		}
	}
	return false
}

func vrfSummary(c *dataplane.VRFCounters, flows uint64) VRF {
	v := VRF{
		Verdicts: verdictMap(&c.Verdicts),
		Paths:    map[string]uint64{},
		Drops:    map[string]uint64{},
		Flows:    flows,
	}
	for p := demux.PathNone + 1; p < demux.NPaths; p++ {
		v.Paths[p.String()] = c.Paths[p]
	}
	for r, n := range c.Drops {
		if n > 0 {
			v.Drops[mib.Reason(r).String()] = n
		}
	}
	v.EarlyDemux.NotTried = map[string]uint64{}
	for i, name := range dataplane.NotTriedNames {
		v.EarlyDemux.NotTried[name] = c.NotTried[i]
	}
	v.EarlyDemux.TCP = early(c.Early[dataplane.EarlyTCP])
	v.EarlyDemux.UDP = early(c.Early[dataplane.EarlyUDP])
	return v
}

func early(c dataplane.EarlyCounters) EarlyProto { return EarlyProto{c.Tried, c.Hit, c.Skipped} }

func verdictMap(v *[mib.NVerdicts]uint64) map[string]uint64 {
	m := make(map[string]uint64, len(v))
	for i, n := range v {
		m[mib.Verdict(i).String()] = n
	}
	return m
}

// WithoutTiming returns the indented JSON that two runs of the same input
// share to the byte: everything but the timing fields.
func (s *Summary) WithoutTiming() ([]byte, error) {
	type bare Summary
	b, err := json.Marshal((*bare)(s))
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	for _, k := range []string{"elapsed_s", "pps", "engine", "lcores"} {
		delete(all, k)
	}
	return json.MarshalIndent(all, "", "  ")
}
