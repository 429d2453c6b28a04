package dataplane

// Sub takes o, an earlier copy of the same counters, away from c: what was
// counted since. Gauges (largest gaps) stay. Control code.
func (c *Counters) Sub(o *Counters) {
	c.Frames -= o.Frames
	c.Bytes -= o.Bytes
	c.Copies -= o.Copies
	c.HashComputed -= o.HashComputed
	c.HashSaved -= o.HashSaved
	c.Bursts -= o.Bursts
	c.EmptyPolls -= o.EmptyPolls
	for i := range o.VRFs {
		c.VRFs[i].sub(&o.VRFs[i])
	}
	for i := range o.Ports {
		subFrom(c.Ports[i][:], o.Ports[i][:])
	}
	for i, w := range o.Workers {
		c.Workers[i].Packets -= w.Packets
		c.Workers[i].Bytes -= w.Bytes
		c.Workers[i].Full -= w.Full
	}
	for i := range o.Groups {
		subFrom(c.Groups[i].Selected, o.Groups[i].Selected)
		subFrom(c.Groups[i].By[:], o.Groups[i].By[:])
	}
	subFrom(c.MIB[:], o.MIB[:])
	f, g := &c.Flows, &o.Flows
	f.Created -= g.Created
	f.Removed -= g.Removed
	f.Evicted -= g.Evicted
	f.RSTIgnored -= g.RSTIgnored
	f.ReqQFull -= g.ReqQFull
	f.TwFull -= g.TwFull
	f.TableFull -= g.TableFull
	f.Contended -= g.Contended
	c.Poll.BusyNs -= o.Poll.BusyNs
	c.Poll.IdleNs -= o.Poll.IdleNs
	c.Poll.Naps -= o.Poll.Naps
	subFrom(c.Poll.Fill[:], o.Poll.Fill[:])
}

func (v *VRFCounters) sub(o *VRFCounters) {
	subFrom(v.Verdicts[:], o.Verdicts[:])
	subFrom(v.Paths[:], o.Paths[:])
	subFrom(v.Drops[:], o.Drops[:])
	subFrom(v.NotTried[:], o.NotTried[:])
	for i := range v.Early {
		v.Early[i].Tried -= o.Early[i].Tried
		v.Early[i].Hit -= o.Early[i].Hit
		v.Early[i].Skipped -= o.Early[i].Skipped
	}
}

func subFrom(dst, src []uint64) {
	for i, v := range src {
		dst[i] -= v
	}
}
