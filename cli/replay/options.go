package replay

import (
	"io"
	"strconv"
	"strings"
	"time"

	"edemux/cli/exit"
)

// Source is one capture of the command line. Port is empty for a bare name.
type Source struct{ Port, Path string }

// Options are the flags of `edemux replay`, as typed.
type Options struct {
	Config, Engine, Local, Speed   string
	Frames, Filter, Script, Secret string
	Decisions, Golden, Out         string
	Inputs                         []Source
	Sets                           []string
	Lcores, Burst, Loop            int
	LoopSet, SpeedSet              bool
	JSON, Update, Quiet            bool
	Duration                       time.Duration
	Stdin                          io.Reader
	Stdout, Stderr                 io.Writer
}

// frameRange is --frames: positions in the merged input, from 1, inclusive.
type frameRange struct{ from, to uint64 }

const lastFrame = 1<<64 - 1

func parseFrames(s string) (frameRange, error) {
	if s == "" {
		return frameRange{1, lastFrame}, nil
	}
	a, b, dash := strings.Cut(s, "-")
	r := frameRange{1, lastFrame}
	var err error
	if a != "" {
		r.from, err = strconv.ParseUint(a, 10, 64)
	}
	switch {
	case err != nil:
	case !dash:
		r.to = r.from
	case b != "":
		r.to, err = strconv.ParseUint(b, 10, 64)
	}
	if err != nil || a == "" && b == "" || r.from == 0 || r.to < r.from {
		return r, exit.Usagef("replay: --frames: %s: want A-B, A-, -B or N, counted from 1", s)
	}
	return r, nil
}
