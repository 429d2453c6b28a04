package replay

import (
	"fmt"
	"os"
	"time"

	"edemux/cli/command"
	"edemux/cli/exit"
	"edemux/cli/setup"
)

// scriptRun applies the commands of a script between frames. The walking stage
// owns it.
type scriptRun struct {
	host   *setup.Host
	cursor command.Cursor
	first  int64 // capture time of the first frame, from which @+ counts
	seen   bool
}

// openScript reads --script, else the script of the configuration.
func openScript(o *Options, h *setup.Host) (*scriptRun, error) {
	name := o.Script
	if name == "" {
		name = h.Config.Path(h.Config.Script)
	}
	s := &scriptRun{host: h}
	if name == "" {
		return s, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, exit.AsUsage(fmt.Errorf("replay: script: %w", err))
	}
	script, err := command.ParseScript(name, data)
	if err != nil {
		return nil, exit.AsUsage(err)
	}
	s.cursor = script.Cursor()
	return s, nil
}

// due reports whether a command stands before the frame at this place.
func (s *scriptRun) due(frame uint64, ts int64) bool {
	return s.cursor.Due(frame, time.Duration(ts-s.first))
}

// before applies what is due before a frame.
func (s *scriptRun) before(frame uint64, ts int64) (changed bool, err error) {
	if !s.seen {
		s.first, s.seen = ts, true
	}
	for {
		e := s.cursor.Next(frame, time.Duration(ts-s.first))
		if e == nil {
			return changed, nil
		}
		if err := s.host.Execute(e.Command); err != nil {
			return changed, exit.AsUsage(fmt.Errorf("script: %s: %s: %w", e.Place(), e.Text, err))
		}
		changed = true
	}
}
