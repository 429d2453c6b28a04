package flowtable

import "slices"

// model is the simple twin of a table: one slice a key, newest flow first.
type model struct {
	spaces map[*Space]*modelSpace
}

type modelSpace struct {
	lim   Limits
	flows map[Key][]Flow
}

func newModel() *model { return &model{spaces: map[*Space]*modelSpace{}} }

func (m *model) add(s *Space, lim Limits) { m.spaces[s] = &modelSpace{lim, map[Key][]Flow{}} }

// round is what the table makes of a deadline of an IPv4 flow.
func round(k *Key, f Flow) Flow {
	if _, _, ok := k.split4(); ok {
		f.Deadline = (f.Deadline + 7) &^ 7
	}
	return f
}

func (f Flow) dead(now int64) bool { return f.Deadline != 0 && now >= f.Deadline }

func (m *modelSpace) lookup(k Key, d Dev, now int64) (Flow, bool) {
	for _, f := range m.flows[k] {
		if d.Match(f.Bdi) && !f.dead(now) {
			return f, true
		}
	}
	return Flow{}, false
}

func (m *modelSpace) insert(k Key, f Flow, now int64) error {
	i := slices.IndexFunc(m.flows[k], func(g Flow) bool { return g.Bdi == f.Bdi })
	if i >= 0 {
		if !m.flows[k][i].dead(now) {
			return ErrExist
		}
		m.drop(k, i)
	}
	if f.State == TimeWait && m.lim.TimeWait != 0 && uint64(m.states(TimeWait)) >= m.lim.TimeWait {
		return ErrTimeWaitFull
	}
	m.flows[k] = append([]Flow{round(&k, f)}, m.flows[k]...)
	return nil
}

func (m *modelSpace) drop(k Key, i int) {
	if m.flows[k] = slices.Delete(slices.Clone(m.flows[k]), i, i+1); len(m.flows[k]) == 0 {
		delete(m.flows, k)
	}
}

// index finds the flow of k with a bound device, dead or not.
func (m *modelSpace) index(k Key, bdi uint32) int {
	return slices.IndexFunc(m.flows[k], func(g Flow) bool { return g.Bdi == bdi })
}

func (m *modelSpace) update(k Key, f Flow) error {
	i := m.index(k, f.Bdi)
	if i < 0 {
		return ErrGone
	}
	was := m.flows[k][i].State
	if f.State == TimeWait && was != TimeWait && m.lim.TimeWait != 0 && uint64(m.states(TimeWait)) >= m.lim.TimeWait {
		m.drop(k, i)
		return ErrTimeWaitFull
	}
	m.flows[k][i] = round(&k, f)
	return nil
}

func (m *modelSpace) deleteSock(sock uint32) (n int) {
	for k := range m.flows {
		for i := 0; i < len(m.flows[k]); {
			if m.flows[k][i].Sock == sock {
				m.drop(k, i)
				n++
			} else {
				i++
			}
		}
	}
	return n
}

// expire drops everything past its deadline.
func (m *modelSpace) expire(now int64) (n int) {
	for k := range m.flows {
		for i := 0; i < len(m.flows[k]); {
			if m.flows[k][i].dead(now) {
				m.drop(k, i)
				n++
			} else {
				i++
			}
		}
	}
	return n
}

func (m *modelSpace) len() (n int) {
	for _, l := range m.flows {
		n += len(l)
	}
	return n
}

func (m *modelSpace) states(st State) (n int) {
	for _, l := range m.flows {
		for _, f := range l {
			if f.State == st {
				n++
			}
		}
	}
	return n
}
