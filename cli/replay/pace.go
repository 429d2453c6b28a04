package replay

import (
	"context"
	"sync/atomic"
	"time"

	"edemux/cli/config"
	"edemux/cli/exit"
)

// pacer holds the walk back to the speed that --speed asks for. Decisions do
// not hang on it.
type pacer struct {
	speed   config.Speed
	started time.Time
	first   int64 // capture time of the first frame
	sent    int64
	ctx     context.Context
	done    atomic.Int64 // frames reported, for the progress line
}

func newPacer(ctx context.Context, s string) (*pacer, error) {
	speed, err := config.ParseSpeed(s)
	if err != nil {
		return nil, exit.Usagef("replay: --speed: %s: %v", s, err)
	}
	return &pacer{speed: speed, ctx: ctx}, nil
}

// paced reports whether every frame has its own time, so that bursts are of one.
func (p *pacer) paced() bool { return p.speed.Kind != config.SpeedMax }

// wait sleeps until the frame with capture time ts is due.
func (p *pacer) wait(ts int64) error {
	if !p.paced() {
		return nil
	}
	if p.started.IsZero() {
		p.started, p.first = time.Now(), ts
	}
	var due time.Duration
	switch p.speed.Kind {
	case config.SpeedReal:
		due = time.Duration(ts - p.first)
	case config.SpeedTimes:
		due = time.Duration(float64(ts-p.first) / p.speed.N)
	case config.SpeedPPS:
		due = time.Duration(float64(p.sent) / p.speed.N * 1e9)
	}
	p.sent++
	// Sleeping is good to about a millisecond: what is due sooner goes at once.
	if left := due - time.Since(p.started); left > time.Millisecond {
		t := time.NewTimer(left)
		defer t.Stop()
		select {
		case <-t.C:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
	return nil
}
