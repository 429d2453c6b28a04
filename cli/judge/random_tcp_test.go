package judge

import (
	"net/netip"

	"edemux/dataplane/packet"
)

// serverISN is the initial sequence number of this host as the frames tell it.
const serverISN = 0x5000_0000

// tcpFrame sends the next segment of a conversation, begins one, or sends a
// segment that belongs to none.
func (g *gen) tcpFrame() {
	switch {
	case len(g.flows) == 0 || g.chance(40):
		g.syn()
	case g.chance(10):
		g.strayTCP()
	default:
		g.segment(pick(g, g.flows))
	}
}

func (g *gen) syn() {
	remote, local := g.ends(tcpPorts)
	remote = netip.AddrPortFrom(remote.Addr(), 2000+uint16(g.count)*16+uint16(len(g.flows)%16))
	f := &gflow{remote: remote, local: local, seq: g.r.Uint32()}
	f.port, f.cpu = g.way()
	for _, o := range g.flows {
		if o.remote == f.remote && o.local == f.local {
			return
		}
	}
	g.tcpSend(f, packet.SYN, "SYN", nil)
	f.seq++
	g.flows = append(g.flows, f)
	if g.chance(60) {
		g.tcpSend(f, packet.ACK, "ACK", nil)
		f.acked = true
	}
}

// segment sends what may come next in a conversation.
func (g *gen) segment(f *gflow) {
	switch {
	case f.fin && g.chance(50):
		g.again(f)
	case f.fin:
		g.tcpSend(f, packet.ACK, "ACK after the end", nil)
	case !f.acked && g.chance(15):
		g.tcpSend(&gflow{port: f.port, cpu: f.cpu, remote: f.remote, local: f.local, seq: f.seq - 1}, packet.SYN, "SYN again", nil)
	case g.chance(8):
		g.tcpSend(f, packet.RST, "RST", nil)
		g.drop(f)
	case g.chance(8) && f.acked:
		g.tcpSend(&gflow{port: f.port, cpu: f.cpu, remote: f.remote, local: f.local, seq: f.seq + 1<<30}, packet.RST, "RST far away", nil)
	case g.chance(10) && f.acked:
		g.add(Step{Hangup: &Hangup{f.remote, f.local}})
		g.tcpSend(f, packet.FIN|packet.ACK, "FIN", nil)
		f.seq++
		f.fin = true
	case g.chance(40):
		g.tcpSend(f, packet.ACK, "ACK", nil)
		f.acked = true
	default:
		p := g.payload()
		g.tcpSend(f, packet.ACK|packet.PSH, "data", p)
		f.seq += uint32(len(p))
		f.acked = true
	}
}

// again begins anew while the old connection is in TIME_WAIT.
func (g *gen) again(f *gflow) {
	f.seq += uint32(g.r.IntN(3)) * 1000
	g.tcpSend(f, packet.SYN, "SYN on TIME_WAIT", nil)
	g.drop(f)
}

// drop forgets a conversation.
func (g *gen) drop(f *gflow) {
	for i, o := range g.flows {
		if o == f {
			g.flows = append(g.flows[:i], g.flows[i+1:]...)
			return
		}
	}
}

func (g *gen) tcpSend(f *gflow, flags uint8, what string, payload []byte) {
	if g.chance(5) { // routes change: another port, another CPU
		f.port, f.cpu = g.way()
	}
	b := segment(&g.n, f.port, f.remote, f.local, flags, f.seq, serverISN+1, payload...)
	g.add(send(f.port, f.cpu, b, "tcp %s > %s: %s", f.remote, f.local, what))
}

// strayTCP sends a segment of no conversation, or one that cannot be read.
func (g *gen) strayTCP() {
	remote, local := g.ends(tcpPorts)
	port, cpu := g.way()
	flags := pick(g, []uint8{packet.ACK, packet.RST, packet.FIN, packet.SYN | packet.ACK, packet.SYN | packet.RST, 0, packet.SYN | packet.FIN})
	b := ip(&g.n, port, remote.Addr(), local.Addr()).TCP(remote.Port(), local.Port(), flags).Seq(g.r.Uint32(), g.r.Uint32())
	what := "stray"
	switch {
	case g.chance(20):
		b, what = b.BadSum(), "bad checksum"
	case g.chance(20):
		b, what = b.Set(12, uint8(g.r.IntN(5))<<4), "data offset below 5"
	case g.chance(10):
		b, what = b.Set(12, 0xf0), "data offset beyond the end"
	}
	g.add(send(port, cpu, b, "tcp %s > %s: %s, flags %#x", remote, local, what, flags))
}
