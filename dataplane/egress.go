package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
)

// Egress is the interface that frame i of a walked burst leaves through; nil when
// its verdict is not forward or its route has gone meanwhile. The lcore's thread.
func (l *Lcore) Egress(b *Burst, i int) *demux.Iface {
	d := &b.Dec[i]
	if d.Verdict != mib.Forward || d.VRF < 0 || !b.Metas[i].Has(packet.HasTuple) {
		return nil
	}
	hop, ok := l.view.VRFs[d.VRF].Route(b.Metas[i].Daddr)
	if !ok {
		return nil
	}
	return l.view.Iface(hop.Ifindex)
}

// KnowMAC tells the address of a port whose device brought it, as Port.Known
// does for one that is configured. It holds from the next Publish on.
func (e *Engine) KnowMAC(port int, mac [6]byte) {
	ports := append([]Port(nil), e.cfg.Ports...)
	p := &ports[port]
	p.Known, p.MAC = true, 0
	for _, b := range mac {
		p.MAC = p.MAC<<8 | uint64(b)
	}
	e.cfg.Ports = ports
}
