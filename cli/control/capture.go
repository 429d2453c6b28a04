package control

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"edemux/dataplane"
	"edemux/dataplane/capture"
	"edemux/dataplane/filter"
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
)

const (
	captureLook = 20 * time.Millisecond // how often rings are emptied
	slowClient  = 5 * time.Second       // for a client to take what was written
	pcapngType  = "application/x-pcapng"
)

// Comment is the decision as the comment of a packet in pcapng.
func Comment(d *dataplane.Decision, copies int, n *dataplane.Names) string {
	s := d.Verdict.String()
	switch d.Verdict {
	case mib.Drop:
		s += " " + d.Reason.String()
	case mib.Punt:
		s += " " + d.Punt.String()
	}
	if d.Path != 0 {
		s += " path=" + d.Path.String()
	}
	if d.Sock != 0 {
		s += " socket=" + n.Sock(d.Sock)
	}
	if d.Worker >= 0 {
		s += " worker=" + n.Worker(d.Worker)
	}
	if d.VRF >= 0 {
		s += " vrf=" + n.VRF(d.VRF)
	}
	if copies > 0 {
		s += " copies=" + strconv.Itoa(copies)
	}
	return s
}

// pcapng writes packets with decisions.
type pcapng struct {
	*capture.NGWriter
	ports []dataplane.Port
}

func newPcapng(w io.Writer, e *dataplane.Engine) (*pcapng, error) {
	ng, err := capture.NewNGWriter(w, "edemux")
	return &pcapng{ng, e.Ports()}, err
}

func (p *pcapng) put(f *packet.Frame, comment string) error {
	i, err := p.Interface(p.ports[f.Port].Name, f.Link)
	if err != nil {
		return err
	}
	return p.Write(i, f, comment)
}

func getCapture(s *Server, w http.ResponseWriter, r *request) error {
	q, err := r.query("filter", "count", "duration")
	if err != nil {
		return err
	}
	f, err := filter.Compile(q.Get("filter"), filter.DecisionFields)
	if err != nil {
		return badRequest("filter: %v", err)
	}
	count, err := number(q, "count", 1, 1<<31-1)
	if err != nil {
		return err
	}
	d, err := duration(q, "duration", MaxCapture)
	if err != nil {
		return err
	}
	if !s.turns.captures.take(r.Context(), false) {
		return busy("captures")
	}
	defer s.turns.captures.give()
	w.Header().Set("Content-Type", pcapngType)
	w.Header().Set("Trailer", missedTrailer)
	c := &liveCapture{server: s, w: w, rc: http.NewResponseController(w), left: count, until: time.Now().Add(d)}
	c.run(r, f)
	return nil
}

// liveCapture copies from the lcores' rings to one client.
type liveCapture struct {
	server *Server
	w      http.ResponseWriter
	rc     *http.ResponseController
	out    *pcapng
	left   int // packets; 0: no such limit
	until  time.Time
	meta   packet.Meta
	err    error
	full   bool // count is reached
}

func (c *liveCapture) run(r *request, f *filter.Filter) {
	e := c.server.state.o.Host.Engine
	if err := c.rc.SetReadDeadline(c.until.Add(slowClient)); err != nil {
		return
	}
	tap := e.Attach(f)
	defer e.Detach(tap)
	if c.out, c.err = newPcapng(c.w, e); c.err != nil || !c.flush() {
		return
	}
	tick := time.NewTicker(captureLook)
	defer tick.Stop()
	for {
		tap.Read(func(p *dataplane.Captured) bool { return c.take(tap, p) })
		if c.err != nil || !c.flush() {
			return
		}
		if c.full || time.Now().After(c.until) {
			break
		}
		select {
		case <-tick.C:
		case <-c.server.ctx.Done():
			c.until = time.Time{}
		case <-r.Context().Done():
			return
		}
	}
	c.w.Header().Set(missedTrailer, strconv.FormatUint(tap.Missed(), 10))
}

func (c *liveCapture) take(tap *dataplane.Tap, p *dataplane.Captured) bool {
	if !tap.Matches(p, &c.meta) {
		return true
	}
	c.err = c.out.put(&p.Frame, Comment(&p.Decision, p.Copies, p.Names))
	if c.left > 0 {
		c.left--
		c.full = c.left == 0
	}
	return c.err == nil && !c.full
}

// flush sends what was written; a client that does not take it in time is cut off.
func (c *liveCapture) flush() bool {
	if err := c.rc.SetWriteDeadline(time.Now().Add(slowClient)); err != nil {
		return false
	}
	return c.out.Flush() == nil && c.rc.Flush() == nil
}

func getRecorder(s *Server, w http.ResponseWriter, r *request) error {
	if _, err := r.query(); err != nil {
		return err
	}
	w.Header().Set("Content-Type", pcapngType)
	var all []*dataplane.Lcore
	for _, l := range s.state.o.Runtime.Lcores() {
		all = append(all, l.Lcore)
	}
	_ = WriteRecorder(w, s.state.o.Host.Engine, all) // the client is gone or it is not
	return nil
}

// WriteRecorder writes what the flight recorders of lcores hold, by time.
func WriteRecorder(w io.Writer, e *dataplane.Engine, lcores []*dataplane.Lcore) error {
	var all []*dataplane.Record
	for _, l := range lcores {
		some := l.Records()
		for i := range some {
			all = append(all, &some[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *dataplane.Record) int {
		switch {
		case a.TS < b.TS:
			return -1
		case a.TS > b.TS:
			return 1
		}
		return 0
	})
	out, err := newPcapng(w, e)
	if err != nil {
		return err
	}
	names := e.Names()
	for _, r := range all {
		f := r.Frame()
		if err := out.put(&f, Comment(&r.Decision, int(r.Copies), names)); err != nil {
			return err
		}
	}
	return out.Flush()
}

// DumpRecorder writes the flight recorders to a new file in dir and returns
// its name.
func DumpRecorder(dir string, e *dataplane.Engine, lcores []*dataplane.Lcore) (string, error) {
	f, err := os.CreateTemp(dir, "edemux-recorder-*.pcapng")
	if err != nil {
		return "", err
	}
	err = errors.Join(WriteRecorder(f, e, lcores), f.Close())
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f.Name(), nil
}
