package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// ahead collects the connected-UDP lookups of a burst, those of one interface
// at a time, so that their cache misses overlap.
type ahead struct {
	ifc   *demux.Iface
	n     int
	at    [BurstMax]uint8 // place in the burst
	h     [BurstMax]uint32
	k     [BurstMax]flowtable.Key
	refs  [BurstMax]flowtable.Ref
	socks [BurstMax]uint32
}

// prefetch hashes every packet that early demux will look up. TCP gets its
// bucket touched; connected UDP sockets are found at once, as no packet changes
// their table. It decides nothing.
func (l *Lcore) prefetch(b *Burst) {
	clear(b.hashed[:b.N])
	clear(b.socks[:b.N])
	clear(b.looked[:b.N])
	if !l.lookAhead {
		return
	}
	a := &l.ahead
	for i := range b.N {
		m, ifc := &b.Metas[i], b.ifaces[i]
		if ifc == nil || b.gates[i].why != tried || m.Reason != mib.NotDropped || m.PktType != packet.Host {
			continue
		}
		vrf := &l.view.VRFs[ifc.VRF]
		t, udp := vrf.TCP, b.gates[i].proto == EarlyUDP
		if udp {
			t = vrf.UDP
		}
		if t.Len() == 0 || udp && !l.view.MatchExact {
			continue
		}
		b.sums[i] = l.e.hasher.Sum(vrf.Seed, m.Daddr, m.Saddr, m.Sport)
		b.hashed[i] = true
		h := b.sums[i].Hash(m.Dport)
		if !udp {
			t.Prefetch(h, m.IPVer == 6)
			continue
		}
		if a.ifc != ifc {
			l.lookUDP(b)
			a.ifc = ifc
		}
		a.at[a.n], a.h[a.n] = uint8(i), h
		a.k[a.n] = flowtable.KeyOf(m.Saddr, m.Daddr, m.Sport, m.Dport)
		a.n++
	}
	l.lookUDP(b)
}

// lookUDP looks up what is collected.
func (l *Lcore) lookUDP(b *Burst) {
	a := &l.ahead
	n := a.n
	if n == 0 {
		return
	}
	a.n = 0
	d := flowtable.Dev{Dif: a.ifc.Dif, Sdif: a.ifc.Sdif, Accept: l.view.TCPL3mdevAccept}
	l.view.VRFs[a.ifc.VRF].UDP.LookupBurst(a.h[:n], a.k[:n], d, l.now, a.refs[:n], a.socks[:n])
	for j, i := range a.at[:n] {
		b.looked[i] = true
		if a.refs[j] != 0 && int(a.socks[j]) < len(l.st.worker) { // else opened since this burst began
			b.socks[i] = a.socks[j]
		}
	}
}
