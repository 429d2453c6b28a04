package control

import (
	"os"
	"slices"
	"strings"

	"edemux/dataplane/mib"
	"edemux/demux"
)

func getVersion(s *State, r *request) (any, error) {
	_, err := r.query()
	v := s.o.Version
	v.PID = os.Getpid()
	return v, err
}

func getConfig(s *State, r *request) (any, error) {
	_, err := r.query()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.config
	c.Epoch, c.Changes = s.o.Host.Engine.Epoch(), slices.Clone(c.Changes)
	return c, err
}

func getSnapshot(s *State, r *request) (any, error) {
	n, _, err := r.snapshot(s)
	return n, err
}

func getCounters(s *State, r *request) (any, error) {
	n, _, err := r.snapshot(s)
	if err != nil {
		return nil, err
	}
	return Counters{n.Head, Samples(n)}, nil
}

// pick returns the elements with the wanted name, all for "".
func pick[T any](all []T, what, name string, match func(*T) bool) ([]T, error) {
	if name == "" {
		return all, nil
	}
	some := []T{}
	for i := range all {
		if match(&all[i]) {
			some = append(some, all[i])
		}
	}
	if len(some) == 0 {
		return nil, noSuch("no %s %q", what, name)
	}
	return some, nil
}

func getVRFs(s *State, r *request) (any, error) {
	n, q, err := r.snapshot(s, "name")
	if err != nil {
		return nil, err
	}
	name := q.Get("name")
	some, err := pick(n.VRFs, "VRF", name, func(v *VRF) bool { return v.Name == name })
	return VRFs{n.Head, some}, err
}

func getGroups(s *State, r *request) (any, error) {
	n, q, err := r.snapshot(s, "name")
	if err != nil {
		return nil, err
	}
	name := q.Get("name")
	some, err := pick(n.Groups, "group", name, func(g *Group) bool { return g.Name == name })
	return Groups{n.Head, some}, err
}

func getWorkers(s *State, r *request) (any, error) {
	n, q, err := r.snapshot(s, "name")
	if err != nil {
		return nil, err
	}
	name := q.Get("name")
	some, err := pick(n.Workers, "worker", name, func(w *Worker) bool {
		pool, _ := splitMember(w.Name)
		return w.Name == name || pool == name
	})
	return Workers{n.Head, some}, err
}

// splitMember splits NAME/INDEX.
func splitMember(s string) (name, index string) {
	name, index, _ = strings.Cut(s, "/")
	return name, index
}

func getPorts(s *State, r *request) (any, error) {
	n, q, err := r.snapshot(s, "name")
	if err != nil {
		return nil, err
	}
	name := q.Get("name")
	some, err := pick(n.Ports, "port", name, func(p *Port) bool { return p.Name == name })
	return Ports{n.Head, some}, err
}

func getLcores(s *State, r *request) (any, error) {
	n, _, err := r.snapshot(s)
	if err != nil {
		return nil, err
	}
	return Lcores{n.Head, n.Lcores}, nil
}

func getDrops(s *State, r *request) (any, error) {
	n, q, err := r.snapshot(s, "vrf")
	if err != nil {
		return nil, err
	}
	name := q.Get("vrf")
	if err := s.checkVRF(name); err != nil && name != "-" {
		return nil, err
	}
	d := Drops{Head: n.Head, Drops: []Drop{}}
	for _, x := range n.Drops {
		if name == "" || x.VRF == name {
			d.Drops = append(d.Drops, x)
			d.Total += x.Frames
		}
	}
	return d, nil
}

func getMIB(s *State, r *request) (any, error) {
	n, _, err := r.snapshot(s)
	if err != nil {
		return nil, err
	}
	return MIB{n.Head, n.MIB}, nil
}

// checkVRF refuses the name of a VRF that does not exist; "" is all of them.
func (s *State) checkVRF(name string) error {
	if name != "" && s.o.Host.Engine.View().VRFByName(name) == nil {
		return noSuch("no VRF %q", name)
	}
	return nil
}

func getFlows(s *State, r *request) (any, error) {
	q, err := r.query("vrf", "filter", "limit", "after")
	if err != nil {
		return nil, err
	}
	limit, err := number(q, "limit", 1, MaxRows)
	if err != nil {
		return nil, err
	}
	return s.Flows(FlowQuery{VRF: q.Get("vrf"), Filter: q.Get("filter"), Limit: limit, After: q.Get("after")})
}

func getObjects(s *State, r *request) (any, error) {
	q, err := r.query("kind")
	if err != nil {
		return nil, err
	}
	o := Objects{Kind: q.Get("kind"), Names: []string{}}
	e := s.o.Host.Engine
	v := e.View()
	switch o.Kind {
	case "vrf":
		o.Names = s.concerned("")
	case "socket":
		o.Names = socketNames(v)
	case "group":
		for i := range v.Groups() {
			if v.GroupSize(i) > 0 {
				o.Names = append(o.Names, v.GroupName(i))
			}
		}
	case "worker":
		for _, w := range e.Workers() {
			o.Names = append(o.Names, w.Name)
		}
	case "iface":
		o.Names = append(o.Names, *s.ifaces.Load()...)
	case "port":
		for _, p := range e.Ports() {
			o.Names = append(o.Names, p.Name)
		}
	case "reason":
		for i := mib.NotDropped + 1; i < mib.NReasons; i++ {
			o.Names = append(o.Names, i.String())
		}
	default:
		return nil, badRequest("kind: %q: want vrf, socket, group, worker, iface, port or reason", o.Kind)
	}
	return o, nil
}

// maxNames bounds what completion is offered.
const maxNames = 10000

// socketNames are the names of sockets, and of those that share one.
func socketNames(v *demux.View) []string {
	names := []string{}
	last := ""
	v.Socks(func(id demux.SockID, _ *demux.Sock) bool {
		name := v.Name(id)
		if base, index := splitMember(name); index != "" && base != last {
			names, last = append(names, base), base
		}
		names = append(names, name)
		return len(names) < maxNames
	})
	return names
}
