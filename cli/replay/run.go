package replay

import (
	"context"
	"fmt"
	"io"
	"time"

	"edemux/cli/exit"
	"edemux/cli/setup"
	"edemux/dataplane"
	"edemux/dataplane/filter"
	"edemux/dataplane/packet"
	"edemux/dataplane/rss"
)

// run is one replay. read belongs to the reading stage, the parser's fields
// are read-only, walk's belong to the walking stage, the rest to printing.
type run struct {
	o       *Options
	host    *setup.Host
	src     *source
	frames  frameRange
	filter  *filter.Filter
	script  *scriptRun
	pace    *pacer
	rss     *rss.Hasher
	queues  []setup.Queues // by port
	burst   *dataplane.Burst
	carrier Carrier // nil: frames stay where they were read
	reports *reports
	input   Input
}

// Run replays as o says. The error carries the exit code.
func Run(ctx context.Context, o *Options) error {
	r, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	defer r.host.Close()
	defer r.src.close()
	if err := r.reports.open(o, r.host); err != nil {
		return err
	}
	s := stages{read: r.src.read, parse: r.parse, walk: r.walk, print: r.print}
	closeCarrier, err := r.carry(&s)
	if err != nil {
		return err
	}
	stopProgress := startProgress(o, r.src, &r.pace.done)
	start := time.Now()
	err = runPipeline(ctx, o.Lcores, s)
	r.host.Drain()
	if e := closeCarrier(); err == nil {
		err = e
	}
	elapsed := time.Since(start)
	stopProgress()
	interrupted := ctx.Err() != nil
	if err != nil && !interrupted {
		r.reports.abandon()
		return err
	}
	r.warn(o.Stderr)
	r.input.Captures = len(o.Inputs)
	sum := Summarize(r.host.Engine, r.input)
	sum.Timing = Timing{Elapsed: elapsed.Seconds(), Engine: o.Engine, Lcores: o.Lcores}
	if elapsed > 0 {
		sum.PPS = float64(r.input.Frames) / elapsed.Seconds()
	}
	if err := r.reports.finish(sum, r.host); err != nil {
		return err
	}
	if interrupted {
		return fmt.Errorf("replay: interrupted after %d frames", r.input.Frames)
	}
	return nil
}

// prepare checks every option before the first frame is read.
func prepare(ctx context.Context, o *Options) (*run, error) {
	r := &run{o: o, burst: &dataplane.Burst{Parsed: true}, reports: &reports{}}
	err := checkEngine(o)
	if err != nil {
		return nil, err
	}
	if r.frames, err = parseFrames(o.Frames); err != nil {
		return nil, err
	}
	if r.filter, err = filter.Compile(o.Filter, filter.FrameFields); err != nil {
		return nil, exit.Usagef("replay: --filter: %v", err)
	}
	if r.host, err = setup.Open(setup.Options{
		File: o.Config, Sets: o.Sets, Secret: o.Secret, Local: o.Local, Command: "replay", Replay: true,
	}); err != nil {
		return nil, err
	}
	if err := takeSources(o, r.host); err != nil {
		return nil, err
	}
	if r.pace, err = newPacer(ctx, o.Speed); err != nil {
		return nil, err
	}
	if r.script, err = openScript(o, r.host); err != nil {
		return nil, err
	}
	if r.src, err = openSource(o.Inputs, o.Stdin, o, r.frames); err != nil {
		return nil, err
	}
	r.src.merge.SetPorts(r.host.Ports)
	r.rss = rss.New(rss.Default())
	r.queues = r.host.Queues()
	return r, nil
}

// parse is the work that needs no order: headers, and the CPU that software
// RSS gives the frame.
func (r *run) parse(b *batch) {
	opts := r.host.ParseOptions()
	for i := range b.n {
		f, m := &b.cap.Frames[i], &b.metas[i]
		packet.Parse(f, &opts, m)
		f.Num = b.cap.Origins[i].Frame
		if int(f.Port) >= len(r.queues) {
			continue
		}
		if q := r.queues[f.Port]; f.HasQueue {
			f.CPU = q.CPU(f.CPU)
		} else if len(q.CPUs) > 1 {
			f.CPU = q.CPUs[rss.Queue(r.rss.Hash(m), uint16(len(q.CPUs)))]
		} else if len(q.CPUs) == 1 {
			f.CPU = q.CPUs[0]
		}
	}
}

// walk decides the frames of a batch in input order, in bursts that end where
// a script has something to say, a frame is left out or pacing wants a pause.
func (r *run) walk(b *batch) error {
	b.copies, b.names = b.copies[:0], append(b.names[:0], namesAt{0, r.host.Engine.Names()})
	return r.walkFrom(b, 0)
}

// walkFrom walks the frames of b from i on.
func (r *run) walkFrom(b *batch, i int) error {
	for i < b.n {
		f := &b.cap.Frames[i]
		if err := r.host.KnowPort(f.Port); err != nil {
			return err
		}
		changed, err := r.script.before(b.first+uint64(i), f.TS)
		if err != nil {
			return err
		}
		if changed {
			b.names = append(b.names, namesAt{i, r.host.Engine.Names()})
		}
		if b.skip[i] = r.skipped(b, i); b.skip[i] {
			if r.carrier != nil {
				r.carrier.Take(1)
			}
			i++
			continue
		}
		n := r.burstFrom(b, i)
		if err := r.pace.wait(f.TS); err != nil {
			return err
		}
		r.walkBurst(b, i, n)
		i += n
	}
	r.host.Drain() // the batch's memory goes round
	return nil
}

// burstFrom is how many frames from i on can go through the walk together.
func (r *run) burstFrom(b *batch, i int) int {
	n := 1
	for n < r.o.Burst && i+n < b.n {
		j := i + n
		f := &b.cap.Frames[j]
		if r.host.NewPort(f.Port) || r.script.due(b.first+uint64(j), f.TS) || r.pace.paced() || r.skipped(b, j) {
			break
		}
		n++
	}
	return n
}

// walkBurst walks n frames of b from i on: where they lie, or as a carrier hands
// them out, maybe in smaller bursts.
func (r *run) walkBurst(b *batch, i, n int) {
	if r.carrier == nil {
		r.walkFrames(b, i, b.cap.Frames[i:i+n])
		return
	}
	for end := i + n; i < end; {
		frames := r.carrier.Take(end - i)
		r.walkFrames(b, i, frames)
		i += len(frames)
	}
}

func (r *run) walkFrames(b *batch, i int, frames []packet.Frame) {
	w, n := r.burst, len(frames)
	w.N, w.Frames, w.Metas, w.Dec = n, frames, b.metas[i:i+n], b.dec[i:i+n]
	r.host.Lcore.Walk(w, 0)
	for _, c := range w.Copies {
		c.Frame += i
		b.copies = append(b.copies, c)
	}
}

// skipped reports whether --frames or --filter leaves the frame out.
func (r *run) skipped(b *batch, i int) bool {
	if b.first+uint64(i) < r.frames.from {
		return true
	}
	if r.filter == nil {
		return false
	}
	var s filter.Subject
	f, m := &b.cap.Frames[i], &b.metas[i]
	s.SetMeta(m)
	s.VRF = r.host.VRFName(f.Port, m)
	return !r.filter.Match(&s)
}

// print counts the input and writes every report that goes frame by frame.
func (r *run) print(b *batch) error {
	copies, at := b.copies, 0
	for i := range b.n {
		for at+1 < len(b.names) && b.names[at+1].from <= i {
			at++
		}
		if b.skip[i] {
			continue
		}
		f := &b.cap.Frames[i]
		r.input.Frames++
		r.input.Bytes += uint64(f.WireLen)
		rec := record{frame: f, meta: &b.metas[i], number: b.cap.Origins[i].Frame}
		if r.reports.perFrame() {
			rec.port = r.host.Ports.Name(f.Port)
			if err := r.reports.frame(&rec, &b.dec[i], b.names[at].names); err != nil {
				return err
			}
		}
		for len(copies) > 0 && copies[0].Frame == i {
			if r.reports.perFrame() {
				if err := r.reports.frame(&rec, &copies[0].Decision, b.names[at].names); err != nil {
					return err
				}
			}
			copies = copies[1:]
		}
	}
	r.pace.done.Add(int64(b.n))
	return nil
}

// warn prints what was wrong with the inputs, a line each.
func (r *run) warn(w io.Writer) {
	for _, x := range r.src.warnings() {
		fmt.Fprintf(w, "edemux: warning: %v\n", x)
	}
}

// takeSources fills in the captures of the configuration and puts those of the
// command line in their place: NAME=FILE for a port, a bare FILE for the only
// one.
func takeSources(o *Options, h *setup.Host) error {
	if o.Config == "" {
		if len(o.Inputs) == 0 {
			return exit.Usagef("replay: no capture: give a file, or - for standard input (see edemux replay --help)")
		}
		return nil
	}
	ports := h.Config.Ports
	byName := map[string]int{}
	var ins []Source
	for _, p := range ports {
		byName[p.Name] = len(ins)
		ins = append(ins, Source{p.Name, h.Config.Path(p.Source.PCAP)})
	}
	for _, in := range o.Inputs {
		name := in.Port
		if name == "" {
			if len(ports) > 1 {
				return exit.Usagef("replay: %s: the configuration has %d ports: say which with NAME=%s", in.Path, len(ports), in.Path)
			}
			if len(ports) == 0 {
				ins = append(ins, Source{"", in.Path})
				continue
			}
			name = ports[0].Name
		}
		i, ok := byName[name]
		if !ok && len(ports) > 0 {
			return exit.Usagef("replay: %s=%s: no port %q in %s", name, in.Path, name, o.Config)
		}
		if !ok {
			byName[name] = len(ins)
			ins = append(ins, Source{name, in.Path})
			continue
		}
		ins[i].Path = in.Path
	}
	o.Inputs = nil
	for _, in := range ins {
		if in.Path != "" {
			o.Inputs = append(o.Inputs, in)
		}
	}
	if len(o.Inputs) == 0 {
		return exit.Usagef("replay: no capture: neither the command line nor a source in %s names one", o.Config)
	}
	return nil
}
