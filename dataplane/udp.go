package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
)

// udp is udp_rcv and udpv6_rcv: header checks, the early demuxed socket, else
// multicast delivery or the unicast lookup.
func (l *Lcore) udp(p *pkt) {
	p.handler = demux.UDP
	l.c.MIB[p.fam.inDelivers]++
	if p.m.L4Reason != mib.NotDropped {
		l.drop(p, p.m.L4Reason)
		return
	}
	if p.m.Has(packet.L4CsumBad) && p.m.PayloadLen <= checksumBreak {
		l.drop(p, mib.UDPCsum)
		return
	}
	if p.sock != 0 {
		l.udpDeliver(p, p.sock, demux.PathEarly)
		return
	}
	if p.route != demux.RouteLocal {
		l.multicast(p)
		return
	}
	if l.findFlow(p, p.vrf.UDP, l.view.VRFs[0].UDP) {
		l.udpDeliver(p, p.flow.Sock, demux.PathEstablished)
		return
	}
	p.q.NoFlow = true
	r := l.view.UDPLookup(l.program(p))
	l.selected(&r)
	if r.Sock == 0 {
		l.noUDPSocket(p)
		return
	}
	l.udpDeliver(p, r.Sock, r.Path)
}

// checksumBreak is the longest payload of a datagram whose checksum Linux
// verifies before it looks for a socket: CHECKSUM_BREAK less the header. Longer
// ones are verified when they are read, or when there is no socket.
const checksumBreak = 76 - 8

// udpDeliver checks what the socket's queue would check and delivers.
func (l *Lcore) udpDeliver(p *pkt, sock uint32, path demux.Path) {
	if p.m.Has(packet.L4CsumBad) || p.m.IPVer == 6 && p.m.Has(packet.UDPZeroCsum) && !l.view.Sock(sock).Has(demux.NoCheck6Rx) {
		p.d.Path = path
		l.drop(p, mib.UDPCsum)
		return
	}
	l.c.MIB[p.fam.udpInDatagrams]++ // Linux counts when the application receives
	l.deliver(p, sock, path)
}

// noUDPSocket verifies the checksum before it says that nobody wants the
// packet: a corrupted port is no reason for an ICMP error.
func (l *Lcore) noUDPSocket(p *pkt) {
	if p.m.Has(packet.L4CsumBad) || p.q.V6 && p.m.Has(packet.UDPZeroCsum) {
		l.drop(p, mib.UDPCsum)
		return
	}
	l.drop(p, mib.NoSocket)
}

// multicast is __udp4_lib_mcast_deliver: every matching socket gets a copy; the
// first one in scan order gets the packet itself, last.
func (l *Lcore) multicast(p *pkt) {
	p.q.ZeroCsum = p.m.Has(packet.UDPZeroCsum)
	l.mcast = l.view.McastSocks(&p.q, l.mcast[:0])
	if len(l.mcast) == 0 {
		l.c.MIB[p.fam.udpIgnoredMulti]++
		l.dropUncounted(p, mib.NoSocket)
		return
	}
	if p.m.Has(packet.L4CsumBad) {
		p.d.Path = demux.PathMcast
		l.drop(p, mib.UDPCsum)
		return
	}
	last := len(l.mcast) - 1
	for _, sock := range l.mcast[:last] {
		l.copyTo(p, sock)
	}
	l.udpDeliver(p, l.mcast[last], demux.PathMcast)
}

// copyTo delivers one extra copy of a multicast datagram.
func (l *Lcore) copyTo(p *pkt, sock uint32) {
	worker := l.st.worker[sock]
	d := Decision{Worker: -1, VRF: p.d.VRF, Path: demux.PathMcast, Verdict: mib.Drop, Reason: mib.SocketRcvBuff}
	if l.toWorker(p, worker) {
		d = Decision{Worker: int32(worker), Sock: sock, VRF: p.d.VRF, Path: demux.PathMcast}
		l.c.MIB[p.fam.udpInDatagrams]++
	} else {
		l.c.MIB[p.fam.udpRcvbufErrors]++
		l.c.MIB[p.fam.udpInErrors]++
	}
	l.c.Copies++
	*l.copies = append(*l.copies, Copy{Frame: p.frame, Decision: d})
}
