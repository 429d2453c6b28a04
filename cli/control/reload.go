package control

import (
	"errors"
	"net/http"
	"os"
	"time"

	"edemux/cli/config"
	"edemux/cli/setup"
)

func postReload(s *State, r *request) (any, error) {
	if _, err := r.query(); err != nil {
		return nil, err
	}
	return s.Reload()
}

// Reload applies the configuration file again: the difference to what runs, or
// nothing at all with an *Error that says why.
func (s *State) Reload() (*Reloaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := os.ReadFile(s.config.File)
	if err != nil {
		return nil, errorf(http.StatusUnprocessableEntity, CodeConfig, "%s: %v", s.config.File, reason(err))
	}
	done, err := s.o.Host.Reload(s.o.Runtime.Serve)
	if err != nil {
		return nil, reloadError(err)
	}
	s.interfaces()
	s.config.Text, s.config.Loaded, s.config.Changes, s.config.Dropped = string(text), time.Now(), []string{}, 0
	out := &Reloaded{Epoch: s.o.Host.Engine.Epoch(), Did: append([]string{}, done.Did...), Unchanged: len(done.Did) == 0, Warnings: []string{}}
	for _, w := range done.Warnings {
		out.Warnings = append(out.Warnings, w.String())
	}
	return out, nil
}

func reloadError(err error) *Error {
	var restart *setup.RestartError
	var bad *config.Error
	switch {
	case errors.As(err, &restart):
		return errorf(http.StatusConflict, CodeRestart, "%v", restart)
	case errors.As(err, &bad):
		return errorf(http.StatusUnprocessableEntity, CodeConfig, "%v", bad)
	}
	return refused(plain(err))
}
