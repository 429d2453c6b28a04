package replay

import (
	"context"
	"fmt"
	"slices"

	"edemux/cli/exit"
	"edemux/cli/setup"
	"edemux/dataplane"
	"edemux/dataplane/packet"
)

// At is what a replay had decided when it came to one frame.
type At struct {
	Host     *setup.Host
	Frame    packet.Frame // a copy
	Meta     packet.Meta
	Decision dataplane.Decision
	Copies   []dataplane.Copy
	Names    *dataplane.Names
	Before   *dataplane.Counters // before the frame
	After    *dataplane.Counters // after it
	Number   uint64
	Since    int64 // capture time since the first frame, ns
}

// UpTo replays o up to frame n of the merged input and stops there.
func UpTo(ctx context.Context, o Options, n uint64) (*At, error) {
	o.Frames, o.Lcores, o.Burst, o.Loop, o.Speed = fmt.Sprintf("-%d", n), 1, 64, 1, "max"
	r, err := prepare(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer r.src.close()
	at := &At{Host: r.host, Number: n}
	walk := func(b *batch) error {
		last := int(n - b.first)
		if b.n == 0 || last >= b.n {
			return r.walk(b)
		}
		b.n = last
		if err := r.walk(b); err != nil {
			return err
		}
		at.Before = r.host.Engine.Counters()
		b.n = last + 1
		if err := r.walkFrom(b, last); err != nil {
			return err
		}
		at.After = r.host.Engine.Counters()
		f := b.cap.Frames[last]
		f.Data = slices.Clone(f.Data)
		at.Frame, at.Meta, at.Decision = f, b.metas[last], b.dec[last]
		at.Copies, at.Names = slices.Clone(r.burst.Copies), r.host.Engine.Names()
		at.Since = f.TS - r.script.first
		return nil
	}
	err = runPipeline(ctx, 1, stages{read: r.src.read, parse: r.parse, walk: walk, print: func(*batch) error { return nil }})
	r.host.Close()
	if err != nil {
		return nil, err
	}
	if at.After == nil {
		return nil, exit.Usagef("explain: --frame: %d: the capture has %d frames", n, r.src.next-1)
	}
	return at, nil
}
