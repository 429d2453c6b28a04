package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/demux"
)

// finish gives the frame in hand its verdict and counts it. Each frame passes
// here exactly once. It returns false: the walk of this packet is over.
func (l *Lcore) finish(p *pkt, v mib.Verdict) bool {
	p.d.Verdict = v
	p.vc.Verdicts[v]++
	p.vc.Paths[p.d.Path]++
	l.c.Ports[p.f.Port][v]++
	l.c.HashComputed += uint64(p.q.Computed)
	l.c.HashSaved += uint64(p.q.Saved)
	return false
}

// drop ends the packet with a reason and the MIB counters that go with it.
func (l *Lcore) drop(p *pkt, r mib.Reason) bool {
	for _, c := range mib.ReasonCounters(r, p.m.IPVer, p.handler) {
		l.c.MIB[c]++
	}
	return l.dropUncounted(p, r)
}

// dropUncounted ends the packet where Linux moves none of the reason's counters.
func (l *Lcore) dropUncounted(p *pkt, r mib.Reason) bool {
	p.d.Reason = r
	p.vc.Drops[r]++
	return l.finish(p, mib.Drop)
}

// punt ends a packet that is not ours to decide.
func (l *Lcore) punt(p *pkt, w mib.PuntWord) bool {
	p.d.Punt = w
	return l.finish(p, mib.Punt)
}

// egress ends a packet that this host sent.
func (l *Lcore) egress(p *pkt) bool {
	if p.ifc != nil {
		p.vc = &l.c.VRFs[p.ifc.VRF+1]
		p.d.VRF = int16(p.ifc.VRF)
	}
	return l.finish(p, mib.Egress)
}

// deliver hands the packet to the worker of sock. A full ring costs only this
// packet, as a full receive queue does.
func (l *Lcore) deliver(p *pkt, sock uint32, path demux.Path) {
	p.d.Path = path
	worker := l.st.worker[sock]
	if !l.toWorker(p, worker) {
		l.drop(p, mib.SocketRcvBuff)
		return
	}
	p.d.Sock, p.d.Worker = sock, int32(worker)
	l.finish(p, mib.Deliver)
}

// toWorker accounts the packet to a worker and passes it on, to the ring when
// the worker polls one, else to its handler on this lcore.
func (l *Lcore) toWorker(p *pkt, worker uint32) bool {
	c := &l.c.Workers[worker]
	if !l.direct[worker] && !l.st.workers[worker].accept(p) {
		c.Full++
		return false
	}
	c.Packets++
	c.Bytes += p.len
	return true
}

// selected counts the choice of a reuseport group.
func (l *Lcore) selected(r *demux.Result) {
	if r.Group == 0 {
		return
	}
	g := &l.c.Groups[r.Group-1]
	g.By[r.By]++
	g.Selected[r.Member]++
}
