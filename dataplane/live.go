package dataplane

import "edemux/flowtable"

// What follows changes a running engine beyond the Builder. All of it takes
// effect with the next Publish.

// Epoch is the number of the state in force, from 1, one more with each
// Publish. Any thread.
func (e *Engine) Epoch() uint64 { return e.state.Load().epoch }

// AddWorkers appends workers. The first gets the index that it returns.
func (e *Engine) AddWorkers(w ...*Worker) int {
	n := len(e.cfg.Workers)
	e.cfg.Workers = append(e.cfg.Workers[:n:n], w...)
	return n
}

// AddTables makes lcores look after further flow tables.
func (e *Engine) AddTables(t ...*flowtable.Table) {
	n := len(e.cfg.Tables)
	e.cfg.Tables = append(e.cfg.Tables[:n:n], t...)
}

// Lcores are the lcores made so far.
func (e *Engine) Lcores() []*Lcore {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lcores[:len(e.lcores):len(e.lcores)]
}
