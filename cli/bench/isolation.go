package bench

import (
	"fmt"
	"time"
)

// Isolation are the options of `bench isolation`.
type Isolation struct {
	Options
	Victims int // flows of the victim
	Cases   []isolationCase
}

// isolationCase is one row to be.
type isolationCase struct {
	op, layout string
	buckets    uint32
	active     bool
	sockets    int // foreign
	vrfs       int
}

// IsolationRow is one line of `bench isolation`. Mops are operations of the
// victim, per second of thread CPU time, in millions; chain is foreign flows
// per bucket of the victim's table; ns_per_link is what each of them adds to an
// operation.
type IsolationRow struct {
	Op        string  `json:"op"`
	Layout    string  `json:"layout"`
	Buckets   int     `json:"buckets"`
	Neighbour string  `json:"neighbour"`
	Sockets   int     `json:"sockets"`
	Chain     float64 `json:"chain"`
	VRFs      int     `json:"vrfs"`
	Pages     string  `json:"pages"`
	Mops      float64 `json:"mops"`
	NsPerLink float64 `json:"ns_per_link"`
	VsEmpty   float64 `json:"vs_empty"`
	Tier      string  `json:"tier"` // of the table that the victim's flows lie in
}

// The published sizes: a host with an ehash of 512 Ki buckets, one with 128 Ki.
const (
	bucketsLarge = 524288
	bucketsSmall = 131072
	crowd        = 24 << 20 // foreign sockets that the targets name
)

// defaults are the rows that targets name and the short half of the published
// curve, or everything: the whole curve takes tens of minutes, because filling
// fixed tables walks the long chains that they are about.
func (o *Isolation) defaults() {
	o.Victims = 4096
	add := func(c isolationCase) { o.Cases = append(o.Cases, c) }
	for _, op := range []string{"lookup", "pipeline", "insert"} {
		for _, layout := range []string{"own", "growing"} {
			for _, active := range []bool{true, false} {
				add(isolationCase{op: op, layout: layout, buckets: bucketsLarge, active: active, sockets: crowd, vrfs: 1})
			}
		}
	}
	for _, op := range []string{"lookup", "pipeline"} {
		for _, vrfs := range []int{1, 10, 100, 1000} {
			add(isolationCase{op: op, layout: "growing", buckets: bucketsLarge, sockets: 1 << 20, vrfs: vrfs})
			add(isolationCase{op: op, layout: "own", buckets: bucketsLarge, sockets: 1 << 20, vrfs: vrfs})
		}
	}
	for _, layout := range []string{"own", "growing"} {
		add(isolationCase{op: "vrf_delete", layout: layout, buckets: bucketsLarge, active: true, sockets: crowd, vrfs: 1})
	}
	chains := []int{8, 16, 32, 64}
	if o.Full {
		chains = append(chains, 128, 192, 256, 320, 384)
	}
	for _, chain := range chains {
		for _, op := range []string{"lookup", "pipeline"} {
			add(isolationCase{op: op, layout: "shared", buckets: bucketsSmall, sockets: chain * bucketsSmall, vrfs: 1})
		}
	}
	if o.Full {
		for _, active := range []bool{false, true} {
			for _, op := range []string{"lookup", "pipeline", "insert", "vrf_delete"} {
				add(isolationCase{op: op, layout: "shared", buckets: bucketsLarge, active: active, sockets: crowd, vrfs: 1})
			}
		}
	}
}

// hall is the tables of one layout and crowd, which several rows share.
type hall struct {
	layout  string
	buckets uint32
	sockets int
	vrfs    int
}

func (c isolationCase) hall() hall { return hall{c.layout, c.buckets, c.sockets, c.vrfs} }

// RunIsolation measures what a victim pays for the flows of its neighbours.
// Each row is measured in turn with the same victim in the same layout without
// any neighbour.
func RunIsolation(o Isolation) (rows []*IsolationRow, err error) {
	var full, empty *tenants
	defer func() { full.close(); empty.close() }()
	for _, c := range groupCases(o.Cases) {
		if full == nil || full.hall != c.hall() {
			full.close()
			empty.close()
			o.say("isolation: %s, %d foreign sockets, %d VRFs", c.layout, c.sockets, c.vrfs)
			alone := c.hall()
			alone.sockets = 0
			if empty, err = furnish(&o, alone); err == nil {
				full, err = furnish(&o, c.hall())
			}
			if err != nil {
				return nil, err
			}
		}
		row, err := o.row(c, full, empty)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.op, c.layout, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// groupCases brings cases of one hall together, in the order of first mention.
func groupCases(cases []isolationCase) (out []isolationCase) {
	seen := map[hall]bool{}
	for _, c := range cases {
		if seen[c.hall()] {
			continue
		}
		seen[c.hall()] = true
		for _, d := range cases {
			if d.hall() == c.hall() {
				out = append(out, d)
			}
		}
	}
	return out
}

// row measures one case.
func (o *Isolation) row(c isolationCase, full, empty *tenants) (*IsolationRow, error) {
	if c.active {
		stop := full.disturb()
		defer stop()
	}
	var sides [2]side
	for i, t := range []*tenants{empty, full} {
		s, err := t.side(c.op)
		if err != nil {
			return nil, err
		}
		sides[i] = s
	}
	ns := compare(o.plan(31, 4*time.Millisecond), sides[:])
	alone, crowded := median(ns[0]), median(ns[1])
	st := full.tables[0].Stats()
	r := &IsolationRow{
		Op: c.op, Layout: c.layout, Buckets: int(c.buckets), Neighbour: "idle", Sockets: c.sockets, VRFs: c.vrfs,
		Pages: st.Pages, Mops: round(1e3 / crowded), VsEmpty: round(median(ratios(ns[0], ns[1]))),
		Tier: readCaches().tier(st.Bytes),
	}
	if c.active {
		r.Neighbour = "active"
	}
	if c.layout != "own" && c.sockets > 0 {
		r.Chain = round(float64(c.sockets) / float64(st.Buckets))
		if c.layout == "shared" && c.op != "vrf_delete" { // elsewhere chains are shorter than a line
			r.NsPerLink = round((crowded - alone) / r.Chain)
		}
	}
	return r, nil
}

// side is the victim's operation.
func (t *tenants) side(op string) (side, error) {
	switch op {
	case "lookup":
		return side{run: t.lookups}, nil
	case "pipeline":
		return t.pipeline()
	case "insert":
		return t.inserts(), nil
	case "vrf_delete":
		return t.deletes(), nil
	}
	return side{}, fmt.Errorf("no operation %q", op)
}
