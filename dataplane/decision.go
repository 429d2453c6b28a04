package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// BurstMax is the most frames that one Walk takes.
const BurstMax = 64

// Decision is what the walk decided for one frame, or for one extra copy of a
// multicast datagram.
type Decision struct {
	Sock    uint32 // member that got it; 0 = none
	Worker  int32  // global worker index; -1 = none
	VRF     int16  // index of the packet's VRF; -1 before one is known
	Verdict mib.Verdict
	Reason  mib.Reason
	Punt    mib.PuntWord
	Path    demux.Path
}

// Copy is an extra delivery of frame Frame of the burst: multicast and
// broadcast datagrams reach every matching socket.
type Copy struct {
	Frame int
	Decision
}

// Burst is a run of frames on its way through the walk. The caller fills
// Frames and sets N; Walk fills the rest. Reuse it: nothing is allocated once
// Copies has grown.
type Burst struct {
	N      int
	Frames []packet.Frame
	Metas  []packet.Meta
	Dec    []Decision
	Copies []Copy
	Parsed bool // Metas were filled by a parsing thread already

	Forwards int // frames with the verdict forward

	ifaces [BurstMax]*demux.Iface
	sums   [BurstMax]flowtable.Sum // computed ahead of early demux
	hashed [BurstMax]bool          // sums[i] is valid
	gates  [BurstMax]gate          // which early demux to run
	socks  [BurstMax]uint32        // connected UDP socket found ahead; 0 = none
	looked [BurstMax]bool          // the flow table was searched ahead
}

// NewBurst returns a burst with room of its own for BurstMax frames.
func NewBurst() *Burst {
	return &Burst{
		Frames: make([]packet.Frame, BurstMax),
		Metas:  make([]packet.Meta, BurstMax),
		Dec:    make([]Decision, BurstMax),
	}
}
