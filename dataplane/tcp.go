package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// Life times of TCP entries, ns: TCP_TIMEWAIT_LEN, and the sum of the SYN-ACK
// timer's back-off for tcp_synack_retries = 5 (1+2+4+8+16+32 s).
const (
	timeWaitTime = 60e9
	synRecvTime  = 63e9
)

// tcp is tcp_v4_rcv after the route: header checks, the established table,
// then rules and listeners. Nothing is sent, so states follow what the one
// side that is seen allows to conclude (docs/differences.md).
func (l *Lcore) tcp(p *pkt) {
	p.handler = demux.TCP
	l.c.MIB[p.fam.inDelivers]++
	if p.m.PktType != packet.Host || p.route != demux.RouteLocal {
		l.drop(p, mib.NotSpecified) // tcp_v4_rcv discards before InSegs
		return
	}
	l.c.MIB[mib.TcpInSegs]++
	if r := p.m.L4Reason; r == mib.PktTooSmall && !(p.m.Has(packet.HasTCP) && p.m.Doff < 20) {
		l.dropUncounted(p, r) // no error of TCP: bytes are missing
		return
	} else if r != mib.NotDropped {
		l.drop(p, r)
		return
	}
	if p.m.Has(packet.L4CsumBad) {
		l.drop(p, mib.TCPCsum)
		return
	}
	if l.findFlow(p, p.vrf.TCP, l.view.VRFs[0].TCP) && (p.early || l.readFlow(p)) && l.tcpFlow(p) {
		return
	}
	l.tcpListen(p)
}

// tcpFlow handles a packet that matches a live entry. False: the entry gave
// way, look for a listener.
func (l *Lcore) tcpFlow(p *pkt) bool {
	f := &p.flow
	switch f.State {
	case flowtable.TimeWait:
		if l.newSynOnTimeWait(p) {
			return false
		}
	case flowtable.NewSynRecv:
		if !l.requestAlive(p) {
			return false
		}
	}
	p.d.Path = demux.PathEstablished
	if p.early {
		p.d.Path = demux.PathEarly
	}
	sock := f.Sock
	l.tcpAdvance(p)
	l.deliver(p, sock, p.d.Path)
	return true
}

// newSynOnTimeWait is tcp_timewait_state_process for TCP_TW_SYN: an acceptable
// SYN ends the TIME_WAIT entry when there is a listener for it. Acceptable
// means a sequence after the last one; timestamps are not kept.
func (l *Lcore) newSynOnTimeWait(p *pkt) bool {
	const mask = packet.SYN | packet.ACK | packet.RST
	if p.m.TCPFlags&mask != packet.SYN || int32(p.m.Seq-p.flow.Next) <= 0 {
		return false
	}
	q := p.q
	if r := l.view.TCPListener(&q); r.Sock == 0 {
		return false
	}
	l.removeFlow(p)
	return true
}

// requestAlive checks that the member which a request is bound to still
// listens; else the request moves to another member when tcp_migrate_req lets
// it (reuseport_migrate_sock), or dies and the packet is looked up anew.
func (l *Lcore) requestAlive(p *pkt) bool {
	if l.view.Listening(p.flow.Sock) {
		return true
	}
	const mask = packet.SYN | packet.ACK | packet.RST
	if p.m.TCPFlags&mask != packet.ACK {
		if p.m.TCPFlags&packet.RST == 0 {
			return true // a retransmitted SYN waits for the timer, as the request does
		}
		l.removeFlow(p)
		return false
	}
	to := l.view.Migrate(p.flow.Sock, p.q.SumIn(p.vrf).Hash(p.q.Dport))
	if to == 0 {
		l.c.MIB[mib.TcpExtTCPMigrateReqFailure]++
		l.removeFlow(p)
		return false
	}
	l.c.MIB[mib.TcpExtTCPMigrateReqSuccess]++
	l.reqs.remove(p.flow.Sock, p.flow.Deadline, p.now)
	l.reqs.add(to, p.flow.Deadline, p.now)
	p.flow.Sock = to
	return true
}

// tcpAdvance applies the packet to the state of its entry and stores it.
func (l *Lcore) tcpAdvance(p *pkt) {
	m, f := p.m, &p.flow
	old := *f
	f.FibGen = p.stamp // the route is valid now, looked up or brought along
	if m.TCPFlags&packet.RST != 0 {
		if m.Seq == f.Next { // RFC 5961 3.2: exactly the next expected
			l.removeFlow(p)
			return
		}
		l.c.Flows.RSTIgnored++
		l.touch(p, &old)
		return
	}
	syn := m.TCPFlags&packet.SYN != 0
	if !syn {
		if end := segmentEnd(m); seqAdvances(f.Next, end) {
			f.Next = end
		}
		if f.State == flowtable.NewSynRecv && m.TCPFlags&packet.ACK != 0 {
			f.State = flowtable.Established
		}
		if f.State == flowtable.Established && m.TCPFlags&packet.FIN != 0 {
			if !l.tw.admit(l.sockVRF(f.Sock), p.now) {
				l.c.Flows.TwFull++
				l.c.MIB[mib.TcpExtTCPTimeWaitOverflow]++
				l.removeFlow(p)
				return
			}
			f.State = flowtable.TimeWait
		}
	}
	l.touch(p, &old)
}

// touch sets the deadline that the state now asks for and stores the entry.
func (l *Lcore) touch(p *pkt, old *flowtable.Flow) {
	f := &p.flow
	switch f.State {
	case flowtable.TimeWait:
		f.Deadline = p.now + timeWaitTime
	case flowtable.Established:
		f.Deadline = 0
		if idle := l.sockVRF(f.Sock).Sysctl.TCPIdleTimeout; idle > 0 {
			f.Deadline = p.now + idle
		}
	}
	if old.State == flowtable.NewSynRecv && f.State != flowtable.NewSynRecv {
		l.reqs.remove(old.Sock, old.Deadline, p.now)
	}
	if old.State == flowtable.TimeWait || f.State == flowtable.TimeWait {
		l.tw.move(l.sockVRF(f.Sock), old, f, p.now)
	}
	if *f != *old {
		l.store(p)
	}
}

// segmentEnd is the sequence after the segment: data, SYN and FIN count.
func segmentEnd(m *packet.Meta) uint32 {
	end := m.Seq
	if m.L4Len > uint32(m.Doff) {
		end += m.L4Len - uint32(m.Doff)
	}
	if m.TCPFlags&packet.SYN != 0 {
		end++
	}
	if m.TCPFlags&packet.FIN != 0 {
		end++
	}
	return end
}

// seqAdvances reports whether end lies after next and inside the largest
// window that TCP can announce (1 GiB, RFC 7323 2.3).
func seqAdvances(next, end uint32) bool {
	d := int32(end - next)
	return d > 0 && d <= 1<<30
}

// tcpListen is __inet_lookup_listener and what a listener does with the
// packet: a SYN becomes a request bound to the chosen member.
func (l *Lcore) tcpListen(p *pkt) {
	p.early = false
	r := l.view.TCPListener(l.program(p))
	l.selected(&r)
	if r.Sock == 0 {
		l.drop(p, mib.NoSocket)
		return
	}
	p.d.Path = r.Path
	vrf := l.sockVRF(r.Sock)
	const mask = packet.SYN | packet.ACK | packet.RST | packet.FIN
	f := flowtable.Flow{Sock: r.Sock, Next: segmentEnd(p.m), FibGen: p.stamp, Bdi: l.childDev(p, r.Sock)}
	if p.m.TCPFlags&mask == packet.SYN {
		queue, proven := l.reqs.full(r.Sock, l.view.Sock(r.Sock).Backlog(), vrf.Sysctl.TCPMaxSynBacklog, p.now)
		if queue {
			l.c.Flows.ReqQFull++
			l.drop(p, mib.ReqQFull)
			return
		}
		if proven {
			l.c.Flows.ReqQFull++
			l.c.MIB[mib.TcpExtListenDrops]++
			l.dropUncounted(p, mib.ReqQFull)
			return
		}
		f.State, f.Deadline = flowtable.NewSynRecv, p.now+synRecvTime
	} else {
		if !vrf.Sysctl.TCPMidstream || p.m.TCPFlags&(packet.RST|packet.FIN) != 0 {
			l.drop(p, mib.TCPFlags)
			return
		}
		if idle := vrf.Sysctl.TCPIdleTimeout; idle > 0 {
			f.Deadline = p.now + idle
		}
	}
	if !l.createFlow(p, vrf, &f) {
		l.c.Flows.TableFull++
		l.drop(p, mib.TableFull)
		return
	}
	l.deliver(p, r.Sock, r.Path)
}

// childDev is inet_request_bound_dev_if: the device that the child of an
// unbound listener is bound to.
func (l *Lcore) childDev(p *pkt, listener uint32) uint32 {
	if bdi := l.view.Sock(listener).Bdi; bdi != 0 {
		return bdi
	}
	if l.view.TCPL3mdevAccept {
		return p.vrf.Ifindex
	}
	return 0
}
