package dpdkrun

import (
	"fmt"
	"maps"
	"slices"

	"edemux/cli/control"
	"edemux/dataplane/dpdk"
)

// Telemetry answers /edemux/stats, /edemux/vrf,NAME, /edemux/workers and
// /edemux/lcores.
func (b *backend) Telemetry(snapshot func() *control.Snapshot) error {
	for _, c := range commands(snapshot) {
		if err := b.eal.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func commands(snapshot func() *control.Snapshot) []dpdk.Command {
	answer := func(f func(n *control.Snapshot) []dpdk.Field) func([]string) ([]dpdk.Field, error) {
		return func([]string) ([]dpdk.Field, error) { return f(snapshot()), nil }
	}
	return []dpdk.Command{
		{Path: "/edemux/stats", Help: "Counts of all lcores together. Parameters: [page]", Answer: answer(stats)},
		{Path: "/edemux/vrf", Help: "Counts of a VRF. Parameters: name [, page]", Args: 1,
			Answer: func(args []string) ([]dpdk.Field, error) { return vrf(snapshot(), args[0]) }},
		{Path: "/edemux/workers", Help: "What each worker was given. Parameters: [page]", Answer: answer(workers)},
		{Path: "/edemux/lcores", Help: "What each lcore polls and how busy it is. Parameters: [page]", Answer: answer(lcores)},
	}
}

func verdicts(v *control.Verdicts) []dpdk.Field {
	return []dpdk.Field{
		{Name: "deliver", Value: v.Deliver}, {Name: "drop", Value: v.Drop}, {Name: "hold", Value: v.Hold},
		{Name: "forward", Value: v.Forward}, {Name: "egress", Value: v.Egress}, {Name: "punt", Value: v.Punt},
	}
}

func early(e *control.EarlyCounts) []dpdk.Field {
	one := func(e *control.Early) []dpdk.Field {
		return []dpdk.Field{{Name: "tried", Value: e.Tried}, {Name: "hit", Value: e.Hit}, {Name: "route_skipped", Value: e.RouteSkipped}}
	}
	return []dpdk.Field{{Name: "tcp", Value: one(&e.TCP)}, {Name: "udp", Value: one(&e.UDP)}, {Name: "not_tried", Value: counts(e.NotTried)}}
}

// counts are the entries of m that are not zero, by name.
func counts(m map[string]uint64) []dpdk.Field {
	out := []dpdk.Field{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] > 0 {
			out = append(out, dpdk.Field{Name: k, Value: m[k]})
		}
	}
	return out
}

func stats(n *control.Snapshot) []dpdk.Field {
	t := &n.Totals
	out := []dpdk.Field{
		{Name: "snapshot", Value: n.Snapshot}, {Name: "epoch", Value: n.Epoch}, {Name: "uptime_s", Value: uint64(n.Uptime)},
		{Name: "frames", Value: t.Frames}, {Name: "bytes", Value: t.Bytes}, {Name: "copies", Value: t.Copies}, {Name: "pps", Value: uint64(t.PPS)},
	}
	out = append(out, verdicts(&t.Verdicts)...)
	out = append(out,
		dpdk.Field{Name: "paths", Value: counts(t.Paths)}, dpdk.Field{Name: "early_demux", Value: early(&t.Early)},
		dpdk.Field{Name: "flows", Value: t.Flows}, dpdk.Field{Name: "hashes", Value: t.Hashes}, dpdk.Field{Name: "hashes_saved", Value: t.Saved})
	drops := map[string]uint64{}
	for _, d := range n.Drops {
		drops[d.Reason] += d.Frames
	}
	return append(out, dpdk.Field{Name: "drops", Value: counts(drops)}, dpdk.Field{Name: "mib", Value: counts(n.MIB)})
}

func vrf(n *control.Snapshot, name string) ([]dpdk.Field, error) {
	for i := range n.VRFs {
		v := &n.VRFs[i]
		if v.Name != name {
			continue
		}
		out := []dpdk.Field{{Name: "name", Value: v.Name}, {Name: "interfaces", Value: v.Interfaces}, {Name: "frames", Value: v.Frames}, {Name: "pps", Value: uint64(v.PPS)}}
		out = append(out, verdicts(&v.Verdicts)...)
		return append(out,
			dpdk.Field{Name: "paths", Value: counts(v.Paths)}, dpdk.Field{Name: "drops", Value: counts(v.Drops)},
			dpdk.Field{Name: "early_demux", Value: early(&v.Early)}, dpdk.Field{Name: "switches", Value: switches(&v.Switches)},
			dpdk.Field{Name: "tcp_table", Value: table(&v.TCP)}, dpdk.Field{Name: "udp_table", Value: table(&v.UDP)}), nil
	}
	return nil, fmt.Errorf("/edemux/vrf: %s: no such VRF", name)
}

func switches(s *control.Switches) []dpdk.Field {
	bit := map[bool]uint64{true: 1}
	return []dpdk.Field{{Name: "ip", Value: bit[s.IP]}, {Name: "tcp", Value: bit[s.TCP]}, {Name: "udp", Value: bit[s.UDP]}}
}

func table(t *control.Table) []dpdk.Field {
	return []dpdk.Field{
		{Name: "buckets", Value: uint64(t.Buckets)}, {Name: "flows", Value: t.Flows}, {Name: "new_syn_recv", Value: t.NewSynRecv},
		{Name: "time_wait", Value: t.TimeWait}, {Name: "bytes", Value: t.Bytes}, {Name: "max_depth", Value: uint64(t.MaxDepth)},
	}
}

func workers(n *control.Snapshot) (out []dpdk.Field) {
	for i := range n.Workers {
		w := &n.Workers[i]
		out = append(out, dpdk.Field{Name: w.Name, Value: []dpdk.Field{
			{Name: "handler", Value: w.Handler}, {Name: "packets", Value: w.Packets}, {Name: "bytes", Value: w.Bytes}, {Name: "pps", Value: uint64(w.PPS)},
			{Name: "ring", Value: uint64(w.Ring)}, {Name: "ring_queued", Value: uint64(w.RingLen)}, {Name: "full", Value: w.Full},
		}})
	}
	return out
}

func lcores(n *control.Snapshot) (out []dpdk.Field) {
	for i := range n.Lcores {
		l := &n.Lcores[i]
		out = append(out, dpdk.Field{Name: fmt.Sprintf("lcore%d", l.Index), Value: []dpdk.Field{
			{Name: "cpu", Value: fmt.Sprint(l.CPU)}, {Name: "state", Value: l.State}, {Name: "queues", Value: l.Queues},
			{Name: "frames", Value: l.Frames}, {Name: "bytes", Value: l.Bytes}, {Name: "pps", Value: uint64(l.PPS)},
			{Name: "bursts", Value: l.Bursts}, {Name: "empty_polls", Value: l.EmptyPolls}, {Name: "busy_ns", Value: l.BusyNs},
			{Name: "idle_ns", Value: l.IdleNs}, {Name: "naps", Value: l.Naps}, {Name: "busy_percent", Value: uint64(l.Busy*100 + 0.5)},
			{Name: "max_gap_ns", Value: l.MaxGapNs}, {Name: "recent_gap_ns", Value: l.RecentGapNs}, {Name: "epoch", Value: l.Epoch},
		}})
	}
	return out
}
