package replay

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"edemux/cli/setup"
	"edemux/dataplane"
)

// reports is everything that a replay writes. The printing stage owns it.
type reports struct {
	o         *Options
	tsv       *tsvWriter
	tsvGolden *golden
	sumGolden *golden
	decisions *os.File
	out       *outDir
}

// open creates the files before the first frame is read, so that a wrong name
// is told at once.
func (r *reports) open(o *Options, h *setup.Host) (err error) {
	r.o = o
	var sinks []io.Writer
	switch o.Decisions {
	case "":
	case "-":
		sinks = append(sinks, o.Stdout)
	default:
		if r.decisions, err = os.Create(o.Decisions); err != nil {
			return err
		}
		sinks = append(sinks, r.decisions)
	}
	if o.Golden != "" {
		g, err := openGolden(o.Golden, o.Update)
		if err != nil {
			return err
		}
		if g.tsv {
			r.tsvGolden = g
			sinks = append(sinks, g)
		} else {
			r.sumGolden = g
		}
	}
	if len(sinks) > 0 {
		if r.tsv, err = newTSVWriter(io.MultiWriter(sinks...)); err != nil {
			return err
		}
	}
	r.out, err = openOutDir(o.Out, h)
	return err
}

// perFrame reports whether any report wants single frames.
func (r *reports) perFrame() bool { return r.tsv != nil || r.out != nil }

func (r *reports) frame(rec *record, d *dataplane.Decision, n *dataplane.Names) error {
	if r.tsv != nil {
		if err := r.tsv.write(rec, d, n); err != nil {
			return err
		}
	}
	if r.out != nil {
		return r.out.write(rec, d, n)
	}
	return nil
}

// finish writes the summary, ends the files and compares with the golden one.
func (r *reports) finish(s *Summary, h *setup.Host) error {
	var errs []error
	if r.tsv != nil {
		errs = append(errs, r.tsv.flush())
	}
	if r.decisions != nil {
		errs = append(errs, r.decisions.Close())
	}
	if r.out != nil {
		errs = append(errs, r.out.close())
	}
	errs = append(errs, r.summary(s, h))
	if err := errors.Join(errs...); err != nil {
		r.abandon()
		return err
	}
	if r.tsvGolden != nil {
		return r.tsvGolden.finish(r.differenceTo())
	}
	if r.sumGolden != nil {
		b, err := s.WithoutTiming()
		if err != nil {
			return err
		}
		if _, err := r.sumGolden.Write(append(b, '\n')); err != nil {
			return err
		}
		return r.sumGolden.finish(r.differenceTo())
	}
	return nil
}

// differenceTo is where a golden difference goes: standard output, unless that
// carries a report for programs.
func (r *reports) differenceTo() io.Writer {
	if r.o.JSON || r.o.Decisions == "-" {
		return r.o.Stderr
	}
	return r.o.Stdout
}

func (r *reports) summary(s *Summary, h *setup.Host) error {
	switch {
	case r.o.JSON:
		b, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return err
		}
		_, err = r.o.Stdout.Write(append(b, '\n'))
		return err
	case r.o.Quiet || r.o.Decisions == "-":
		return nil
	}
	return writeHuman(r.o.Stdout, s, h.Assumed)
}

// abandon ends the files of a replay that failed.
func (r *reports) abandon() {
	for _, g := range []*golden{r.tsvGolden, r.sumGolden} {
		if g != nil {
			g.abandon()
		}
	}
}
