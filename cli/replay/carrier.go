package replay

import (
	"context"

	"edemux/cli/exit"
	"edemux/dataplane/packet"
)

// Carrier takes the frames of a replay through another engine's memory on their
// way to the walk. Every frame that is fed is taken, in the same order.
type Carrier interface {
	// Feed puts frames where Take finds them. The stage ahead of the walk calls it; it
	// waits for room, until ctx ends.
	Feed(ctx context.Context, frames []packet.Frame) error
	// Take returns the next frames, at least one and at most n, which were all fed or
	// are just being fed. They are borrowed until the next Take. The walk's thread.
	Take(n int) []packet.Frame
	// Start runs f on the engine's polling thread; wait returns when f has.
	Start(f func()) (wait func() error, err error)
	// Close gives everything back, also frames that nobody took.
	Close() error
}

// OpenDPDK makes a carrier whose frames go through mbufs and a ring to an EAL lcore.
// batch is the most frames and bytes that are fed at a time. It is nil in a program
// without DPDK.
var OpenDPDK func(batch, bytes int) (Carrier, error)

// checkEngine refuses an engine that this program does not have.
func checkEngine(o *Options) error {
	if o.Engine == "dpdk" && OpenDPDK == nil {
		return exit.Usagef("replay: --engine dpdk: built without DPDK: install libdpdk-dev and run make build")
	}
	return nil
}

// carry makes the stages go through the engine that was asked for. The walk then
// parses what it takes, byte for byte, instead of relying on what was read.
func (r *run) carry(s *stages) (closeCarrier func() error, err error) {
	if r.o.Engine != "dpdk" {
		return func() error { return nil }, nil
	}
	if r.carrier, err = OpenDPDK(batchFrames, batchBytes); err != nil {
		return nil, err
	}
	s.feed = func(ctx context.Context, b *batch) error { return r.carrier.Feed(ctx, b.cap.Frames[:b.n]) }
	s.on = r.carrier.Start
	r.burst.Parsed = false
	return r.carrier.Close, nil
}
