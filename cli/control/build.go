package control

import (
	"fmt"

	"edemux/dataplane"
	"edemux/dataplane/mib"
	"edemux/demux"
	"edemux/flowtable"
)

// builder turns counters into a Snapshot.
type builder struct {
	*State
	raw  *raw // since the last clear
	all  *raw // since the start
	rate *raw // an older copy; nil: no rates
	view *demux.View
	secs float64 // between rate and all
}

func (b *builder) build(id uint64) *Snapshot {
	e := b.o.Host.Engine
	b.view = e.View()
	if b.rate != nil {
		b.secs = b.all.at.Sub(b.rate.at).Seconds()
	}
	n := &Snapshot{
		Head:   Head{Snapshot: id, Epoch: e.Epoch(), Time: b.raw.at},
		Uptime: b.raw.at.Sub(b.started).Seconds(),
		MIB:    map[string]uint64{},
	}
	b.totals(&n.Totals)
	n.Lcores = b.lcores()
	n.VRFs = b.vrfs()
	n.Workers = b.workers()
	n.Groups = b.groups()
	n.Ports = b.ports()
	n.Drops = b.drops()
	for i, v := range b.raw.sum.MIB {
		if v > 0 {
			n.MIB[mib.Counter(i).String()] = v
		}
	}
	return n
}

// perSecond is the rate of a count between the older copy and now.
func (b *builder) perSecond(now uint64, then func(r *raw) uint64) float64 {
	if b.secs <= 0 {
		return 0
	}
	return float64(now-then(b.rate)) / b.secs
}

func (b *builder) totals(t *Totals) {
	c := b.raw.sum
	var sum dataplane.VRFCounters
	for i := range c.VRFs {
		sum.Add(&c.VRFs[i])
	}
	t.Frames, t.Bytes, t.Copies, t.Hashes, t.Saved = c.Frames, c.Bytes, c.Copies, c.HashComputed, c.HashSaved
	t.Verdicts, t.Paths, t.Early = verdicts(&sum.Verdicts), paths(&sum), early(&sum)
	t.PPS = b.perSecond(b.all.sum.Frames, func(r *raw) uint64 { return r.sum.Frames })
	for i := range b.view.VRFs {
		v := &b.view.VRFs[i]
		t.Flows += uint64(v.TCP.Len() + v.UDP.Len())
	}
}

func (b *builder) lcores() []Lcore {
	all := []Lcore{}
	for i, info := range b.o.Runtime.Lcores() {
		c := b.raw.lcores[i]
		l := Lcore{
			Index: i, CPU: info.CPU, State: info.State, Epoch: info.Lcore.Epoch(), Queues: []string{},
			Frames: c.Frames, Bytes: c.Bytes, Bursts: c.Bursts, EmptyPolls: c.EmptyPolls,
			BusyNs: c.Poll.BusyNs, IdleNs: c.Poll.IdleNs, Naps: c.Poll.Naps,
			FillCounts: append([]uint64{}, c.Poll.Fill[:]...),
			MaxGapNs:   c.Poll.MaxGapNs, RecentGapNs: max(c.Poll.GapNow, c.Poll.GapLast),
			Computed: c.HashComputed, Saved: c.HashSaved, Recorded: info.Lcore.Recorded(),
			Contended: c.Flows.Contended, Created: c.Flows.Created, Removed: c.Flows.Removed, Evicted: c.Flows.Evicted,
			TableFull: c.Flows.TableFull, RSTIgnored: c.Flows.RSTIgnored, TWFull: c.Flows.TwFull,
		}
		l.PPS = b.perSecond(b.all.lcores[i].Frames, func(r *raw) uint64 { return r.lcores[i].Frames })
		if c.Bursts > 0 {
			l.Fill = float64(c.Frames) / float64(c.Bursts)
		}
		if b.secs > 0 {
			p, q := &b.all.lcores[i].Poll, &b.rate.lcores[i].Poll
			busy, idle := p.BusyNs-q.BusyNs, p.IdleNs-q.IdleNs
			if busy+idle > 0 {
				l.Busy = float64(busy) / float64(busy+idle)
			}
		}
		for _, q := range info.Queues {
			l.Queues = append(l.Queues, fmt.Sprintf("%s/%d", b.portName(q.Port), q.Queue))
		}
		all = append(all, l)
	}
	return all
}

func (b *builder) portName(i int) string { return b.o.Host.Engine.Ports()[i].Name }

// vrfs are all VRFs, and "-" when something was decided before a VRF was known
// or in one that is gone.
func (b *builder) vrfs() []VRF {
	c := b.raw.sum
	all := []VRF{}
	var rest dataplane.VRFCounters
	if len(c.VRFs) > 0 {
		rest = c.VRFs[0]
	}
	for i := range b.view.VRFs {
		v := &b.view.VRFs[i]
		var k dataplane.VRFCounters
		if i+1 < len(c.VRFs) {
			k = c.VRFs[i+1]
		}
		if v.Name == "" {
			rest.Add(&k)
			continue
		}
		x := b.counted(v.Name, &k)
		x.Switches = switches(&v.Sysctl)
		x.Interfaces = b.interfaces(uint16(i))
		x.TCP, x.UDP = b.table(v.TCP), b.table(v.UDP)
		x.PPS = b.perSecond(vrfFrames(b.all, i+1), func(r *raw) uint64 { return vrfFrames(r, i+1) })
		all = append(all, x)
	}
	if x := b.counted("-", &rest); x.Frames > 0 {
		x.Interfaces = []string{}
		all = append(all, x)
	}
	return all
}

func vrfFrames(r *raw, i int) (n uint64) {
	if i < len(r.sum.VRFs) {
		for _, v := range r.sum.VRFs[i].Verdicts {
			n += v
		}
	}
	return n
}

func (b *builder) counted(name string, k *dataplane.VRFCounters) VRF {
	x := VRF{Name: name, Verdicts: verdicts(&k.Verdicts), Paths: paths(k), Drops: map[string]uint64{}, Early: early(k)}
	x.Frames = x.Verdicts.Sum()
	for r, n := range k.Drops {
		if n > 0 {
			x.Drops[mib.Reason(r).String()] = n
		}
	}
	return x
}

func (b *builder) interfaces(vrf uint16) []string {
	all := []string{}
	for _, n := range *b.ifaces.Load() {
		if i := b.view.IfaceByName(n); i != nil && i.VRF == vrf {
			all = append(all, n)
		}
	}
	return all
}

func (b *builder) table(s *flowtable.Space) Table {
	st := s.Table().Stats()
	return Table{
		Shared: st.Shared, Buckets: st.Buckets, MaxBuckets: st.Max, Limit: st.Limit, Flows: uint64(s.Len()),
		NewSynRecv: uint64(s.LenState(flowtable.NewSynRecv)), TimeWait: uint64(s.LenState(flowtable.TimeWait)),
		Bytes: st.Bytes, Growing: st.Growing, MaxDepth: st.MaxDepth,
	}
}

func (b *builder) workers() []Worker {
	all := []Worker{}
	for i, w := range b.o.Host.Engine.Workers() {
		x := Worker{Name: w.Name, Handler: w.Handler.String(), CPU: b.o.Runtime.WorkerCPU(i)}
		if w.Ring != nil {
			x.Ring, x.RingLen = w.Ring.Cap(), w.Ring.Len()
		}
		if i < len(b.raw.sum.Workers) {
			c := b.raw.sum.Workers[i]
			x.Packets, x.Bytes, x.Full = c.Packets, c.Bytes, c.Full
			x.PPS = b.perSecond(workerPackets(b.all, i), func(r *raw) uint64 { return workerPackets(r, i) })
		}
		all = append(all, x)
	}
	return all
}

func workerPackets(r *raw, i int) uint64 {
	if i < len(r.sum.Workers) {
		return r.sum.Workers[i].Packets
	}
	return 0
}

func (b *builder) drops() []Drop {
	all := []Drop{}
	c := b.raw.sum
	var rest dataplane.VRFCounters
	add := func(name string, k *dataplane.VRFCounters) {
		for r, n := range k.Drops {
			if n > 0 {
				all = append(all, Drop{Reason: mib.Reason(r).String(), VRF: name, Frames: n, Hint: mib.Reason(r).Hint()})
			}
		}
	}
	for i := range c.VRFs {
		if i == 0 || b.view.VRFs[i-1].Name == "" {
			rest.Add(&c.VRFs[i])
			continue
		}
		add(b.view.VRFs[i-1].Name, &c.VRFs[i])
	}
	add("-", &rest)
	return all
}

func verdicts(v *[mib.NVerdicts]uint64) Verdicts {
	return Verdicts{v[mib.Deliver], v[mib.Drop], v[mib.Hold], v[mib.Forward], v[mib.Egress], v[mib.Punt]}
}

func paths(k *dataplane.VRFCounters) map[string]uint64 {
	m := map[string]uint64{}
	for p := demux.PathNone + 1; p < demux.NPaths; p++ {
		m[p.String()] = k.Paths[p]
	}
	return m
}

func early(k *dataplane.VRFCounters) EarlyCounts {
	x := EarlyCounts{NotTried: map[string]uint64{}}
	for i, name := range dataplane.NotTriedNames {
		x.NotTried[name] = k.NotTried[i]
	}
	t, u := k.Early[dataplane.EarlyTCP], k.Early[dataplane.EarlyUDP]
	x.TCP, x.UDP = Early{t.Tried, t.Hit, t.Skipped}, Early{u.Tried, u.Hit, u.Skipped}
	return x
}

func switches(s *demux.Sysctl) Switches {
	return Switches{IP: s.IPEarlyDemux, TCP: s.TCPEarlyDemux, UDP: s.UDPEarlyDemux}
}
