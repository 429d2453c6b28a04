package control

import (
	"strconv"

	"edemux/demux"
)

func getSockets(s *State, r *request) (any, error) {
	q, err := r.query("name", "vrf", "limit", "after")
	if err != nil {
		return nil, err
	}
	limit, err := number(q, "limit", 1, MaxRows)
	if err != nil {
		return nil, err
	}
	return s.Sockets(SocketQuery{Name: q.Get("name"), VRF: q.Get("vrf"), Limit: limit, After: q.Get("after")})
}

// Sockets returns a page of sockets, in the order in which they were opened.
func (s *State) Sockets(q SocketQuery) (*Sockets, error) {
	if err := s.checkVRF(q.VRF); err != nil {
		return nil, err
	}
	after, err := socketCursor(q.After)
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultRows
	}
	v := s.o.Host.Engine.View()
	out := &Sockets{Head: s.head(), Sockets: []Socket{}}
	v.Socks(func(id demux.SockID, k *demux.Sock) bool {
		out.Total++
		if id <= after || q.VRF != "" && v.VRFs[k.VRF].Name != q.VRF || !isOrHas(v.Name(id), q.Name) {
			return true
		}
		if len(out.Sockets) == limit {
			out.After = strconv.FormatUint(uint64(out.Sockets[limit-1].ID), 10)
			return true
		}
		out.Sockets = append(out.Sockets, s.socket(v, id, k))
		return true
	})
	if q.Name != "" && len(out.Sockets) == 0 && q.After == "" {
		return nil, noSuch("no socket %q", q.Name)
	}
	return out, nil
}

func socketCursor(s string) (demux.SockID, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, badRequest("after: %q is no cursor of an earlier page", s)
	}
	return demux.SockID(n), nil
}

// isOrHas reports whether a socket is the one asked for, or a member of it.
func isOrHas(name, want string) bool {
	if want == "" || name == want {
		return true
	}
	base, index := splitMember(name)
	return index != "" && base == want
}

func (s *State) socket(v *demux.View, id demux.SockID, k *demux.Sock) Socket {
	x := Socket{
		ID: id, Name: v.Name(id), Proto: protoName(k.Proto()), Family: int(k.Family()),
		Local: endpoint(k.Laddr, k.Lport), State: "bound", VRF: v.VRFs[k.VRF].Name,
		Worker: s.o.Host.Engine.Workers()[k.Worker].Name, IncomingCPU: k.IncomingCPU, Backlog: k.Backlog(),
	}
	switch {
	case k.Has(demux.Listening):
		x.State = "listen"
	case k.Has(demux.Connected):
		x.State, x.Remote = "connected", endpoint(k.Faddr, k.Fport)
	}
	if k.Group > 0 {
		x.Group = v.GroupName(int(k.Group - 1))
	}
	if i := v.Info(id); i != nil {
		x.Dev, x.UID = i.Dev, i.UID
	}
	return x
}
