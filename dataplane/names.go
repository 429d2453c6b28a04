package dataplane

import (
	"maps"

	"edemux/demux"
)

// Names turns the numbers in decisions into the names that people gave. It is
// immutable: decisions keep the Names that held when they were taken, so a
// socket that is closed later keeps its name.
type Names struct {
	view    *demux.View
	closed  map[uint32]string // sockets that lived once
	workers []*Worker
	owner   []uint32 // worker of each socket that ever lived
}

// newNames keeps the names of sockets that the new view does not have any more.
func (e *Engine) newNames(st, old *state) *Names {
	n := &Names{view: st.View, workers: st.workers, owner: st.worker}
	if old == nil {
		return n
	}
	n.closed = old.names.closed
	if len(st.gone) > 0 {
		n.closed = maps.Clone(n.closed)
	}
	if n.closed == nil {
		n.closed = map[uint32]string{}
	}
	for _, id := range st.gone {
		n.closed[id] = old.View.Name(id)
	}
	return n
}

// VRF returns the name of a VRF, "" for -1.
func (n *Names) VRF(i int16) string {
	if i < 0 {
		return ""
	}
	return n.view.VRFs[i].Name
}

// Sock returns the name of a socket, "" for 0.
func (n *Names) Sock(id uint32) string {
	if id == 0 {
		return ""
	}
	if s := n.view.Sock(id); s.Alive() {
		return n.view.Name(id)
	}
	return n.closed[id]
}

// WorkerOf returns the worker of a socket, -1 for 0.
func (n *Names) WorkerOf(id uint32) int32 {
	if id == 0 || int(id) >= len(n.owner) {
		return -1
	}
	return int32(n.owner[id])
}

// Worker returns pool/index of a worker, "" for -1.
func (n *Names) Worker(i int32) string {
	if i < 0 {
		return ""
	}
	return n.workers[i].Name
}

// String is the word of the configuration.
func (h Handler) String() string { return handlerNames[h] }

var handlerNames = [...]string{
	HandleCount: "count", HandleTouch: "touch", HandlePcap: "pcap", HandleEcho: "echo", HandlePort: "port",
}
