package control

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"edemux/dataplane"
	"edemux/dataplane/filter"
	"edemux/demux"
	"edemux/flowtable"
)

// Flows are paged in a fixed order without keeping anything between pages: a
// page holds the smallest keys behind the cursor. One look at the tables finds
// window keys, enough for many pages; what is left over is kept for a short time
// for the page that is asked for next.
const (
	window     = 65536
	windowLife = 5 * time.Second
	windows    = 4 // kept at most
)

// place orders flows: VRF, protocol, key, device.
type place struct {
	vrf   uint16
	proto uint8
	bdi   uint32
	key   flowtable.Key
}

func (a *place) compare(b *place) int {
	return cmp.Or(
		cmp.Compare(a.vrf, b.vrf), cmp.Compare(a.proto, b.proto),
		cmp.Compare(a.key.Laddr.Hi, b.key.Laddr.Hi), cmp.Compare(a.key.Laddr.Lo, b.key.Laddr.Lo),
		cmp.Compare(a.key.Lport, b.key.Lport),
		cmp.Compare(a.key.Faddr.Hi, b.key.Faddr.Hi), cmp.Compare(a.key.Faddr.Lo, b.key.Faddr.Lo),
		cmp.Compare(a.key.Fport, b.key.Fport), cmp.Compare(a.bdi, b.bdi),
	)
}

// cursorSize is the length of a cursor before base64.
const cursorSize = 2 + 1 + 4 + 4*8 + 2*2

// cursor is the place as text.
func (a *place) cursor() string {
	b := make([]byte, 0, cursorSize)
	b = binary.BigEndian.AppendUint16(b, a.vrf)
	b = append(b, a.proto)
	b = binary.BigEndian.AppendUint32(b, a.bdi)
	for _, w := range []uint64{a.key.Laddr.Hi, a.key.Laddr.Lo, a.key.Faddr.Hi, a.key.Faddr.Lo} {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	b = binary.BigEndian.AppendUint16(b, a.key.Lport)
	b = binary.BigEndian.AppendUint16(b, a.key.Fport)
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseCursor(s string) (a place, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != cursorSize {
		return a, badRequest("after: %q is no cursor of an earlier page", s)
	}
	a.vrf, a.proto, a.bdi = binary.BigEndian.Uint16(b), b[2], binary.BigEndian.Uint32(b[3:])
	w := b[7:]
	a.key.Laddr.Hi, a.key.Laddr.Lo = binary.BigEndian.Uint64(w), binary.BigEndian.Uint64(w[8:])
	a.key.Faddr.Hi, a.key.Faddr.Lo = binary.BigEndian.Uint64(w[16:]), binary.BigEndian.Uint64(w[24:])
	a.key.Lport, a.key.Fport = binary.BigEndian.Uint16(w[32:]), binary.BigEndian.Uint16(w[34:])
	return a, nil
}

// found is a flow that a walk came across.
type found struct {
	place
	flow flowtable.Flow
}

// flowPages keeps what is left over of walks.
type flowPages struct {
	mu   sync.Mutex
	kept []flowWindow
}

// flowWindow is a run of flows in order, without a gap.
type flowWindow struct {
	vrf, filter string
	at          time.Time
	from        place // behind which the run begins
	begin       bool  // it begins at the very first flow
	last        bool  // nothing follows
	flows       []found
}

// Flows returns a page of flows.
func (s *State) Flows(q FlowQuery) (*Flows, error) {
	v := s.o.Host.Engine.View()
	if q.VRF != "" && v.VRFByName(q.VRF) == nil {
		return nil, noSuch("no VRF %q", q.VRF)
	}
	f, err := filter.Compile(q.Filter, filter.FlowFields)
	if err != nil {
		var e *filter.Error
		if errors.As(err, &e) {
			return nil, badRequest("filter: %v", e)
		}
		return nil, badRequest("filter: %v", err)
	}
	var after *place
	if q.After != "" {
		p, err := parseCursor(q.After)
		if err != nil {
			return nil, err
		}
		after = &p
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultRows
	}
	w := s.flows.find(q, after, limit)
	if w == nil {
		w = s.walk(v, q, f, after)
		s.flows.keep(w)
	}
	return s.page(w, after, limit), nil
}

// find returns a kept run that holds the page.
func (p *flowPages) find(q FlowQuery, after *place, limit int) *flowWindow {
	if after == nil {
		return nil // who starts at the beginning wants the present
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = slices.DeleteFunc(p.kept, func(w flowWindow) bool { return time.Since(w.at) > windowLife })
	for i := range p.kept {
		w := &p.kept[i]
		if w.vrf != q.VRF || w.filter != q.Filter || !w.begin && after.compare(&w.from) < 0 {
			continue
		}
		if w.last || len(w.flows)-w.behind(after) > limit {
			c := *w
			return &c
		}
	}
	return nil
}

func (p *flowPages) keep(w *flowWindow) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) >= windows {
		p.kept = slices.Delete(p.kept, 0, len(p.kept)-windows+1)
	}
	p.kept = append(p.kept, *w)
}

// behind is the index of the first flow behind a place.
func (w *flowWindow) behind(after *place) int {
	if after == nil {
		return 0
	}
	i, at := slices.BinarySearchFunc(w.flows, after, func(f found, p *place) int { return f.compare(p) })
	if at {
		i++
	}
	return i
}

// walk looks at every flow and keeps the first window of them behind after.
func (s *State) walk(v *demux.View, q FlowQuery, f *filter.Filter, after *place) *flowWindow {
	w := &flowWindow{vrf: q.VRF, filter: q.Filter, at: time.Now(), begin: after == nil, last: true}
	if after != nil {
		w.from = *after
	}
	c := collector{w: w, after: after, filter: f, fields: f.Fields(), names: s.o.Host.Engine.Names(), view: v}
	now := s.o.Clock()
	for i := range v.VRFs {
		if q.VRF == "" || v.VRFs[i].Name == q.VRF {
			c.vrf = uint16(i)
			s.o.Host.Engine.Flows(i, now, c.add)
		}
	}
	c.trim()
	return w
}

// collector keeps the smallest of what it is given: it sorts and cuts whenever
// it holds twice as much as wanted.
type collector struct {
	w      *flowWindow
	after  *place
	bound  *place // nothing above it is wanted; nil: not full yet
	filter *filter.Filter
	fields filter.Fields
	names  *dataplane.Names
	view   *demux.View
	vrf    uint16
	s      filter.Subject
}

func (c *collector) add(proto uint8, k flowtable.Key, f flowtable.Flow) bool {
	x := found{place{c.vrf, proto, f.Bdi, k}, f}
	if c.after != nil && x.compare(c.after) <= 0 || !c.matches(&x) {
		return true
	}
	if c.bound != nil && x.compare(c.bound) > 0 {
		c.w.last = false
		return true
	}
	c.w.flows = append(c.w.flows, x)
	if len(c.w.flows) >= 2*window {
		c.trim()
	}
	return true
}

func (c *collector) trim() {
	slices.SortFunc(c.w.flows, func(a, b found) int { return a.compare(&b.place) })
	if len(c.w.flows) > window {
		c.w.flows, c.w.last = c.w.flows[:window], false
		b := c.w.flows[window-1].place
		c.bound = &b
	}
}

func (c *collector) matches(x *found) bool {
	if c.filter == nil {
		return true
	}
	c.s.SetFlow(&x.key, x.proto)
	c.s.VRF = c.view.VRFs[x.vrf].Name
	if c.fields&filter.FieldSocket != 0 {
		c.s.Socket = c.names.Sock(x.flow.Sock)
	}
	if c.fields&filter.FieldWorker != 0 {
		c.s.Worker = c.names.Worker(c.names.WorkerOf(x.flow.Sock))
	}
	return c.filter.Match(&c.s)
}

// page cuts a page out of a run.
func (s *State) page(w *flowWindow, after *place, limit int) *Flows {
	e := s.o.Host.Engine
	v, names, now := e.View(), e.Names(), s.o.Clock()
	out := &Flows{Head: s.head(), Flows: []Flow{}}
	for i := range v.VRFs {
		out.Total += uint64(v.VRFs[i].TCP.Len() + v.VRFs[i].UDP.Len())
	}
	rest := w.flows[w.behind(after):]
	n := min(limit, len(rest))
	for i := range rest[:n] {
		x := &rest[i]
		f := Flow{
			VRF: names.VRF(int16(x.vrf)), Proto: protoName(x.proto),
			Local: endpoint(x.key.Laddr, x.key.Lport), Remote: endpoint(x.key.Faddr, x.key.Fport),
			State: stateName(x.proto, x.flow.State), Socket: names.Sock(x.flow.Sock),
			Worker: names.Worker(names.WorkerOf(x.flow.Sock)), Dev: deviceName(v, x.bdi), Expires: -1,
		}
		if x.flow.Deadline != 0 {
			f.Expires = max(0, (x.flow.Deadline-now)/1e6)
		}
		out.Flows = append(out.Flows, f)
	}
	if n > 0 && (n < len(rest) || !w.last) {
		out.After = rest[n-1].cursor()
	}
	return out
}

// endpoint is ADDR:PORT, with brackets for IPv6.
func endpoint(a flowtable.Addr, port uint16) string {
	return netip.AddrPortFrom(a.Netip(), port).String()
}

func stateName(proto uint8, s flowtable.State) string {
	if proto == demux.UDP {
		return "connected"
	}
	return strings.ToLower(s.String())
}

// deviceName is the name of an interface or VRF device.
func deviceName(v *demux.View, ifindex uint32) string {
	if ifindex == 0 {
		return ""
	}
	if i := v.Iface(ifindex); i != nil {
		return i.Name
	}
	for i := range v.VRFs {
		if v.VRFs[i].Ifindex == ifindex {
			return v.VRFs[i].Name
		}
	}
	return fmt.Sprint(ifindex)
}

// head is the head of an answer that is not taken from a snapshot.
func (s *State) head() Head {
	s.snaps.mu.Lock()
	id := s.snaps.ids
	s.snaps.mu.Unlock()
	return Head{Snapshot: id, Epoch: s.o.Host.Engine.Epoch(), Time: time.Now()}
}
