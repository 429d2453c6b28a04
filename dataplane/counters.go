package dataplane

import (
	"edemux/dataplane/mib"
	"edemux/demux"
)

// EarlyTCP and EarlyUDP index the protocols that early demux knows.
const (
	EarlyTCP = iota
	EarlyUDP
)

// NotTried indexes the reasons for which early demux did not look.
type NotTried uint8

const (
	NotTriedDisabled NotTried = iota
	NotTriedFragment
	NotTriedExthdr
	NotTriedPktType
	NotTriedProto
	NNotTried
)

// NotTriedNames are the JSON keys, in order.
var NotTriedNames = [NNotTried]string{"disabled", "fragment", "exthdr", "pkttype", "proto"}

// EarlyCounters count early demux of one protocol. Skipped counts the hits
// that really saved the route lookup.
type EarlyCounters struct{ Tried, Hit, Skipped uint64 }

// VRFCounters are the accounts of one VRF on one lcore. Verdicts sum to the
// frames of that VRF, Drops to Verdicts[Drop].
type VRFCounters struct {
	Verdicts [mib.NVerdicts]uint64
	Paths    [demux.NPaths]uint64
	Drops    [mib.NReasons]uint64
	Early    [2]EarlyCounters
	NotTried [NNotTried]uint64
}

// WorkerCounters count what a worker was given, copies included.
type WorkerCounters struct{ Packets, Bytes, Full uint64 }

// GroupCounters count the choices of a reuseport group by member index at the
// time of the choice, and by what chose.
type GroupCounters struct {
	Selected []uint64
	By       [demux.NBy]uint64
}

// FlowCounters count changes of the flow tables.
type FlowCounters struct {
	Created, Removed, Evicted    uint64
	RSTIgnored, ReqQFull, TwFull uint64
	TableFull, Contended         uint64
}

// Counters are the accounts of one lcore: plain words, written by its thread
// only, read when the lcore is between bursts (Lcore.Snapshot).
type Counters struct {
	Frames, Bytes, Copies   uint64
	HashComputed, HashSaved uint64
	Bursts, EmptyPolls      uint64
	VRFs                    []VRFCounters // [0]: before a VRF is known; VRF i at [i+1]
	Ports                   [][mib.NVerdicts]uint64
	Workers                 []WorkerCounters
	Groups                  []GroupCounters
	MIB                     [mib.NCounters]uint64
	Flows                   FlowCounters
	Poll                    PollCounters
}

// grow makes room for everything in view. Called between bursts when the view
// changed, the only place where an lcore's counters allocate.
func (c *Counters) grow(st *state) {
	v := st.View
	for len(c.VRFs) < len(v.VRFs)+1 {
		c.VRFs = append(c.VRFs, VRFCounters{})
	}
	for len(c.Ports) < len(st.ports) {
		c.Ports = append(c.Ports, [mib.NVerdicts]uint64{})
	}
	for len(c.Workers) < len(st.workers) {
		c.Workers = append(c.Workers, WorkerCounters{})
	}
	for i := range v.Groups() {
		if i >= len(c.Groups) {
			c.Groups = append(c.Groups, GroupCounters{})
		}
		g := &c.Groups[i]
		for len(g.Selected) < st.members[i] {
			g.Selected = append(g.Selected, 0)
		}
	}
}

// Add sums o into c (control code; o is a snapshot).
func (c *Counters) Add(o *Counters) {
	c.Frames += o.Frames
	c.Bytes += o.Bytes
	c.Copies += o.Copies
	c.HashComputed += o.HashComputed
	c.HashSaved += o.HashSaved
	c.Bursts += o.Bursts
	c.EmptyPolls += o.EmptyPolls
	for i := range o.VRFs {
		if i == len(c.VRFs) {
			c.VRFs = append(c.VRFs, VRFCounters{})
		}
		c.VRFs[i].Add(&o.VRFs[i])
	}
	for i := range o.Ports {
		if i == len(c.Ports) {
			c.Ports = append(c.Ports, [mib.NVerdicts]uint64{})
		}
		addTo(c.Ports[i][:], o.Ports[i][:])
	}
	for i, w := range o.Workers {
		if i == len(c.Workers) {
			c.Workers = append(c.Workers, WorkerCounters{})
		}
		c.Workers[i].Packets += w.Packets
		c.Workers[i].Bytes += w.Bytes
		c.Workers[i].Full += w.Full
	}
	for i := range o.Groups {
		if i == len(c.Groups) {
			c.Groups = append(c.Groups, GroupCounters{})
		}
		for len(c.Groups[i].Selected) < len(o.Groups[i].Selected) {
			c.Groups[i].Selected = append(c.Groups[i].Selected, 0)
		}
		addTo(c.Groups[i].Selected, o.Groups[i].Selected)
		addTo(c.Groups[i].By[:], o.Groups[i].By[:])
	}
	addTo(c.MIB[:], o.MIB[:])
	c.Flows.add(&o.Flows)
	c.Poll.add(&o.Poll)
}

// Add sums o into v.
func (v *VRFCounters) Add(o *VRFCounters) {
	addTo(v.Verdicts[:], o.Verdicts[:])
	addTo(v.Paths[:], o.Paths[:])
	addTo(v.Drops[:], o.Drops[:])
	addTo(v.NotTried[:], o.NotTried[:])
	for i := range v.Early {
		v.Early[i].Tried += o.Early[i].Tried
		v.Early[i].Hit += o.Early[i].Hit
		v.Early[i].Skipped += o.Early[i].Skipped
	}
}

func (f *FlowCounters) add(o *FlowCounters) {
	f.Created += o.Created
	f.Removed += o.Removed
	f.Evicted += o.Evicted
	f.RSTIgnored += o.RSTIgnored
	f.ReqQFull += o.ReqQFull
	f.TwFull += o.TwFull
	f.TableFull += o.TableFull
	f.Contended += o.Contended
}

func addTo(dst, src []uint64) {
	for i, v := range src {
		dst[i] += v
	}
}

// Clone returns a deep copy.
func (c *Counters) Clone() *Counters {
	n := new(Counters)
	n.Add(c)
	return n
}
