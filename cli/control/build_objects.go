package control

import (
	"edemux/demux"
)

// groups are the reuseport groups that have members.
func (b *builder) groups() []Group {
	all := []Group{}
	for i := range b.view.Groups() {
		if g := b.view.Group(i); g != nil && len(g.Members()) > 0 {
			all = append(all, b.group(i, g))
		}
	}
	return all
}

func (b *builder) group(i int, g *demux.Group) Group {
	x := Group{Name: b.view.GroupName(i), Members: []Member{}, Program: g.Prog != nil, By: map[string]uint64{}}
	workers := b.o.Host.Engine.Workers()
	c := b.raw.sum
	for m, id := range g.Members() {
		s := b.view.Sock(id)
		x.Proto = protoName(s.Proto())
		mem := Member{Index: m, Socket: b.view.Name(id), Worker: workers[s.Worker].Name}
		if i < len(c.Groups) && m < len(c.Groups[i].Selected) {
			mem.Selected = c.Groups[i].Selected[m]
		}
		x.Members = append(x.Members, mem)
	}
	for by := demux.ByNone + 1; by < demux.NBy; by++ {
		n := uint64(0)
		if i < len(c.Groups) {
			n = c.Groups[i].By[by]
		}
		x.By[by.String()] = n
		x.Selected += n
	}
	return x
}

func (b *builder) ports() []Port {
	all := []Port{}
	for i, p := range b.o.Runtime.Ports() {
		info := &b.raw.info[i]
		x := Port{
			Name: b.portName(i), Source: info.Source, MAC: info.MAC, Link: info.Link, Missed: info.Missed, Queues: []Queue{},
			Sent: info.Sent, SentBytes: info.SentBytes, Refused: info.Refused, Unsent: info.Unsent, Expired: info.Expired,
		}
		if i < len(b.raw.sum.Ports) {
			x.Verdicts = verdicts(&b.raw.sum.Ports[i])
		}
		x.Frames = x.Verdicts.Sum()
		x.PPS = b.perSecond(portFrames(b.all, i), func(r *raw) uint64 { return portFrames(r, i) })
		cpus := b.o.Host.Queues()[i].CPUs
		for j, q := range b.raw.queues[i] {
			x.Queues = append(x.Queues, Queue{
				Index: j, CPU: int(cpus[j]), Lcore: b.lcoreOf(i, j), Frames: q.Frames, Bytes: q.Bytes,
				Passes: q.Passes, Stalled: q.Stalled, Done: p.Queues()[j].Done(),
			})
		}
		all = append(all, x)
	}
	return all
}

func (b *builder) lcoreOf(port, queue int) int {
	for i, l := range b.o.Runtime.Lcores() {
		for _, q := range l.Queues {
			if q.Port == port && q.Queue == queue {
				return i
			}
		}
	}
	return -1
}

func portFrames(r *raw, i int) (n uint64) {
	if i < len(r.sum.Ports) {
		for _, v := range r.sum.Ports[i] {
			n += v
		}
	}
	return n
}

func protoName(p uint8) string {
	if p == demux.TCP {
		return "tcp"
	}
	return "udp"
}
