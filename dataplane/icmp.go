package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// icmp gives an ICMP error to the socket whose datagram it quotes: tcp_v4_err,
// udp_err and their IPv6 twins. Everything else of ICMP is the host's.
func (l *Lcore) icmp(p *pkt) {
	word := mib.ICMP
	if p.q.V6 {
		word = mib.ICMPv6
	}
	if l.parseOptions.VerifyL4 {
		if ok, known := packet.ICMPSum(p.data, p.m); known && !ok {
			l.c.MIB[p.fam.icmpInCsumErrors]++
			l.c.MIB[p.fam.icmpInErrors]++
			l.punt(p, word)
			return
		}
	}
	if !p.m.Has(packet.ICMPError) {
		l.punt(p, word)
		return
	}
	e, ok := packet.Embedded(p.data, p.m)
	if !ok {
		l.c.MIB[p.fam.icmpInErrors]++
		l.punt(p, word)
		return
	}
	sock, ignored := l.icmpSock(p, &e)
	if sock == 0 {
		if !ignored && (e.Proto == demux.TCP || e.Proto == demux.UDP) {
			l.c.MIB[p.fam.icmpInErrors]++
		}
		l.punt(p, word)
		return
	}
	l.deliver(p, sock, demux.PathICMP)
}

// icmpSock turns the quoted datagram round (this host sent it) and finds its
// socket: for TCP in the established table only, with the devices that each
// family's error handler passes; for UDP by the full lookup without program.
// Errors about TIME_WAIT are ignored.
func (l *Lcore) icmpSock(p *pkt, e *packet.Inner) (sock uint32, ignored bool) {
	q := &p.q
	q.Proto = e.Proto
	q.Saddr, q.Sport = e.Daddr, e.Dport
	q.Daddr, q.Dport = e.Saddr, e.Sport
	forgetHash(q)
	switch e.Proto {
	case demux.TCP:
		if !q.V6 {
			q.Sdif = 0 // tcp_v4_err passes sdif 0: an unbound socket matches inside a VRF too
		}
		p.probed = false
		if l.findFlow(p, p.vrf.TCP, l.view.VRFs[0].TCP) && l.readFlow(p) {
			if p.flow.State == flowtable.TimeWait {
				return 0, true
			}
			return p.flow.Sock, false
		}
	case demux.UDP:
		p.probed = false
		if l.findFlow(p, p.vrf.UDP, l.view.VRFs[0].UDP) {
			return p.flow.Sock, false
		}
		r := l.view.UDPError(q)
		l.selected(&r)
		return r.Sock, false
	}
	return 0, false
}
