package demux

import (
	"net/netip"
)

// Rule sends packets to a socket before listeners are asked, as a BPF
// sk_lookup program does. The first rule that matches wins; if its socket
// cannot take the packet then (closed, connected, wrong family) the normal
// lookup goes on.
type Rule struct {
	Proto    uint8 // TCP or UDP
	AnyVRF   bool  // in every VRF; else in VRF only
	VRF      uint16
	Dst      netip.Prefix // invalid: any address of both families
	Src      netip.Prefix // invalid: any
	Low, Top uint16       // destination ports, inclusive
	Socket   SockID
	Group    bool // Socket stands for its group: when it closes another member takes its place
}
