package demux

import (
	"syscall"
)

// autoPort chooses a local port: bind to port 0.
func (o *opening) autoPort() error {
	b := o.b
	sys := &b.v.VRFs[o.s.VRF].Sysctl
	low, n := int(sys.PortLow), int(sys.PortHigh)-int(sys.PortLow)+1
	if n > 0 {
		start := b.rand.IntN(n)
		for i := range n {
			port := uint16(low + (start+i)%n)
			if sys.ReservedPort(port) {
				continue
			}
			o.s.Lport = port
			if b.conflict(&o.s, o.sp.UID, 0, o.sp.Prog == nil) == 0 {
				return nil
			}
		}
	}
	o.s.Lport = 0
	return o.fail(o.bindOp(), syscall.EADDRINUSE, "no port is free")
}
