package control

import "strconv"

// Metric is one family of the registry: what Prometheus shows under Name and
// GET /v1/counters lists, taken from a Snapshot.
type Metric struct {
	Name   string
	Help   string
	Gauge  bool // may fall; else a counter
	Labels []string
	each   func(n *Snapshot, emit Emit)
}

// Emit takes one sample: the value, then that of each label in order.
type Emit func(value float64, labels ...string)

// Each calls emit for every sample of the metric in n.
func (m *Metric) Each(n *Snapshot, emit Emit) { m.each(n, emit) }

// Registry is every metric, in the order in which it is shown. Labels are
// bounded by the configuration: no flow and no address is one.
var Registry = []Metric{
	{Name: "edemux_frames_total", Help: "Frames received, by port and verdict.", Labels: []string{"port", "verdict"},
		each: func(n *Snapshot, emit Emit) {
			for i := range n.Ports {
				n.Ports[i].Verdicts.each(func(v string, x uint64) { emit(float64(x), n.Ports[i].Name, v) })
			}
		}},
	{Name: "edemux_vrf_frames_total", Help: "Frames by VRF and verdict; VRF - is before one is known.", Labels: []string{"vrf", "verdict"},
		each: func(n *Snapshot, emit Emit) {
			for i := range n.VRFs {
				n.VRFs[i].Verdicts.each(func(v string, x uint64) { emit(float64(x), n.VRFs[i].Name, v) })
			}
		}},
	{Name: "edemux_path_frames_total", Help: "Frames by how their socket was found.", Labels: []string{"vrf", "path"},
		each: eachVRF(func(v *VRF, emit Emit) { eachKey(v.Paths, v.Name, emit) })},
	{Name: "edemux_drop_frames_total", Help: "Dropped frames by VRF and reason.", Labels: []string{"vrf", "reason"},
		each: func(n *Snapshot, emit Emit) {
			for _, d := range n.Drops {
				emit(float64(d.Frames), d.VRF, d.Reason)
			}
		}},
	portMetric("edemux_port_missed_frames_total", "Frames lost before they reached a receive queue.", func(p *Port) uint64 { return p.Missed }),
	portMetric("edemux_port_sent_frames_total", "Packets sent.", func(p *Port) uint64 { return p.Sent }),
	portMetric("edemux_port_sent_bytes_total", "Bytes sent.", func(p *Port) uint64 { return p.SentBytes }),
	portMetric("edemux_port_send_refused_frames_total", "Packets that the device did not take.", func(p *Port) uint64 { return p.Refused }),
	portMetric("edemux_port_unsent_frames_total", "Packets of this port that could not be turned around or sent on.", func(p *Port) uint64 { return p.Unsent }),
	portMetric("edemux_port_ttl_expired_frames_total", "Packets to forward that had no hop left.", func(p *Port) uint64 { return p.Expired }),
	queueMetric("edemux_queue_frames_total", "Frames taken from a receive queue.", func(q *Queue) uint64 { return q.Frames }),
	queueMetric("edemux_queue_bytes_total", "Bytes taken from a receive queue, as on the wire.", func(q *Queue) uint64 { return q.Bytes }),
	queueMetric("edemux_queue_stalled_polls_total", "Polls that found a capture behind its pace.", func(q *Queue) uint64 { return q.Stalled }),
	earlyMetric("edemux_early_demux_tried_total", "Packets that early demux looked up.", func(e *Early) uint64 { return e.Tried }),
	earlyMetric("edemux_early_demux_hit_total", "Packets whose socket early demux found.", func(e *Early) uint64 { return e.Hit }),
	earlyMetric("edemux_early_demux_route_skipped_total", "Early demux hits that saved the route lookup.", func(e *Early) uint64 { return e.RouteSkipped }),
	{Name: "edemux_early_demux_not_tried_total", Help: "Packets that early demux did not look up, by reason.", Labels: []string{"vrf", "reason"},
		each: eachVRF(func(v *VRF, emit Emit) { eachKey(v.Early.NotTried, v.Name, emit) })},
	{Name: "edemux_early_demux_enabled", Help: "Position of each early-demux switch.", Gauge: true, Labels: []string{"vrf", "proto"},
		each: eachVRF(func(v *VRF, emit Emit) {
			if v.Name != "-" {
				emit(bit(v.Switches.IP), v.Name, "ip")
				emit(bit(v.Switches.TCP), v.Name, "tcp")
				emit(bit(v.Switches.UDP), v.Name, "udp")
			}
		})},
	tableMetric("edemux_flow_table_flows", "Flows of a VRF.", func(t *Table) float64 { return float64(t.Flows) }),
	tableMetric("edemux_flow_table_buckets", "Buckets of the table that a VRF uses.", func(t *Table) float64 { return float64(t.Buckets) }),
	tableMetric("edemux_flow_table_bytes", "Memory of the table that a VRF uses.", func(t *Table) float64 { return float64(t.Bytes) }),
	tableMetric("edemux_flow_table_time_wait", "Flows of a VRF in TIME_WAIT.", func(t *Table) float64 { return float64(t.TimeWait) }),
	tableMetric("edemux_flow_table_new_syn_recv", "Flows of a VRF in NEW_SYN_RECV.", func(t *Table) float64 { return float64(t.NewSynRecv) }),
	tableMetric("edemux_flow_table_longest_chain", "Longest chain that an insert has seen, in flows.", func(t *Table) float64 { return float64(t.MaxDepth) }),
	workerMetric("edemux_worker_packets_total", "Packets given to a worker, multicast copies included.", false, func(w *Worker) float64 { return float64(w.Packets) }),
	workerMetric("edemux_worker_bytes_total", "Bytes given to a worker.", false, func(w *Worker) float64 { return float64(w.Bytes) }),
	workerMetric("edemux_worker_full_packets_total", "Packets lost because the ring of a worker was full.", false, func(w *Worker) float64 { return float64(w.Full) }),
	workerMetric("edemux_worker_ring_packets", "Packets that wait in the ring of a worker.", true, func(w *Worker) float64 { return float64(w.RingLen) }),
	{Name: "edemux_group_selected_total", Help: "Choices of a reuseport group, by what chose.", Labels: []string{"group", "by"},
		each: func(n *Snapshot, emit Emit) {
			for i := range n.Groups {
				eachKey(n.Groups[i].By, n.Groups[i].Name, emit)
			}
		}},
	{Name: "edemux_group_members", Help: "Members of a reuseport group.", Gauge: true, Labels: []string{"group"},
		each: func(n *Snapshot, emit Emit) {
			for i := range n.Groups {
				emit(float64(len(n.Groups[i].Members)), n.Groups[i].Name)
			}
		}},
	lcoreMetric("edemux_lcore_frames_total", "Frames that an lcore decided.", false, func(l *Lcore) float64 { return float64(l.Frames) }),
	lcoreMetric("edemux_lcore_bursts_total", "Bursts that an lcore took.", false, func(l *Lcore) float64 { return float64(l.Bursts) }),
	lcoreMetric("edemux_lcore_empty_polls_total", "Polls that brought nothing.", false, func(l *Lcore) float64 { return float64(l.EmptyPolls) }),
	{Name: "edemux_lcore_seconds_total", Help: "Time of an lcore, busy in bursts or idle.", Labels: []string{"lcore", "state"},
		each: func(n *Snapshot, emit Emit) {
			for i := range n.Lcores {
				l := &n.Lcores[i]
				emit(float64(l.BusyNs)/1e9, strconv.Itoa(l.Index), "busy")
				emit(float64(l.IdleNs)/1e9, strconv.Itoa(l.Index), "idle")
			}
		}},
	{Name: "edemux_lcore_burst_size_total", Help: "Bursts by size; size is the largest that is counted.", Labels: []string{"lcore", "size"},
		each: func(n *Snapshot, emit Emit) {
			for i := range n.Lcores {
				for j, x := range n.Lcores[i].FillCounts {
					emit(float64(x), strconv.Itoa(n.Lcores[i].Index), strconv.Itoa(FillBounds[j]))
				}
			}
		}},
	lcoreMetric("edemux_lcore_poll_gap_seconds", "Largest time between two polls in the last 10 to 20 seconds.", true, func(l *Lcore) float64 { return float64(l.RecentGapNs) / 1e9 }),
	lcoreMetric("edemux_lcore_epoch", "Epoch of the configuration that an lcore uses.", true, func(l *Lcore) float64 { return float64(l.Epoch) }),
	lcoreMetric("edemux_flow_hashes_total", "Flow hashes computed.", false, func(l *Lcore) float64 { return float64(l.Computed) }),
	lcoreMetric("edemux_flow_hashes_saved_total", "Flow hashes that an eager choice of a member would have computed.", false, func(l *Lcore) float64 { return float64(l.Saved) }),
	lcoreMetric("edemux_flows_created_total", "Flows created.", false, func(l *Lcore) float64 { return float64(l.Created) }),
	lcoreMetric("edemux_flows_removed_total", "Flows removed by packets.", false, func(l *Lcore) float64 { return float64(l.Removed) }),
	lcoreMetric("edemux_flows_evicted_total", "Flows evicted for newer ones.", false, func(l *Lcore) float64 { return float64(l.Evicted) }),
	lcoreMetric("edemux_flow_table_full_total", "Packets refused because the flow table was full.", false, func(l *Lcore) float64 { return float64(l.TableFull) }),
	lcoreMetric("edemux_flow_bucket_contended_total", "Changes that found their bucket held by another lcore.", false, func(l *Lcore) float64 { return float64(l.Contended) }),
	{Name: "edemux_mib_total", Help: "Counters of the kernel's MIB, under their kernel names.", Labels: []string{"name"},
		each: func(n *Snapshot, emit Emit) {
			for _, k := range sortedKeys(n.MIB) {
				emit(float64(n.MIB[k]), k)
			}
		}},
	{Name: "edemux_epoch", Help: "Epoch of the configuration in force; rises with every change.", Gauge: true,
		each: func(n *Snapshot, emit Emit) { emit(float64(n.Epoch)) }},
	{Name: "edemux_snapshot_id", Help: "Id of the snapshot that these values are from.", Gauge: true,
		each: func(n *Snapshot, emit Emit) { emit(float64(n.Snapshot)) }},
	{Name: "edemux_uptime_seconds", Help: "Time since the start.", Gauge: true,
		each: func(n *Snapshot, emit Emit) { emit(n.Uptime) }},
}

// Samples are all values of a snapshot.
func Samples(n *Snapshot) []Sample {
	all := []Sample{}
	for i := range Registry {
		m := &Registry[i]
		m.each(n, func(v float64, labels ...string) {
			s := Sample{Name: m.Name, Value: v, Labels: map[string]string{}}
			for j, l := range m.Labels {
				s.Labels[l] = labels[j]
			}
			all = append(all, s)
		})
	}
	return all
}
