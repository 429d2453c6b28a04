package setup

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"edemux/cli/config"
	"edemux/dataplane"
	"edemux/demux"
	"edemux/flowtable"
)

// RestartError names what a reload cannot change in a running engine.
type RestartError struct{ What []string }

func (e *RestartError) Error() string {
	return strings.Join(e.What, "; ") + ": needs a restart"
}

// Reloaded says what a reload did.
type Reloaded struct {
	Did      []string
	Warnings []config.Problem
}

// Reload applies the difference between the running and the new configuration.
// Sockets that stay keep their numbers and with them their flows. Whatever is
// wrong with the new one, or cannot be done live, is found before anything
// is changed: the whole of it is built on the side, then the difference is applied to a
// copy of the running state. serve makes threads poll the rings of new workers.
// Control goroutine.
func (h *Host) Reload(serve func(workers []*dataplane.Worker, cpus []int)) (*Reloaded, error) {
	next := &Host{command: h.command}
	if err := next.load(h.opts); err != nil {
		return nil, err
	}
	c := next.Config
	if err := config.Build(c, demux.NewBuilder(h.secrets)); err != nil {
		return nil, err
	}
	d := h.compare(c)
	if len(d.restart) > 0 {
		return nil, &RestartError{d.restart}
	}
	out := &Reloaded{Did: d.did, Warnings: c.Warnings}
	if err := h.rehearse(d); err != nil {
		return nil, &RestartError{[]string{fmt.Sprintf("%v", err)}}
	}
	fresh, err := h.newTables(d)
	if err != nil {
		return nil, err
	}
	h.addPools(d, serve)
	e := h.edit(h.Builder, d)
	e.spaces = fresh
	if err := e.apply(); err != nil {
		return nil, fmt.Errorf("internal: what went well on the side fails live: %w", err)
	}
	gone := h.spacesOf(d.dropVRFs)
	h.Config = c
	h.Builder.SetMatchExact(h.exact(h.opts.Replay))
	if err := h.Engine.Publish(); err != nil {
		return nil, err
	}
	h.settleEpoch()
	for _, s := range gone {
		s.Remove()
	}
	return out, nil
}

// rehearse applies the difference to a copy of the running state.
func (h *Host) rehearse(d *difference) error {
	running := *h.Config
	running.Rules = livingRules(h.Config)
	b := demux.NewBuilder(h.secrets)
	if err := config.Build(&running, b); err != nil {
		return fmt.Errorf("the running state cannot be copied: %w", err)
	}
	return h.edit(b, d).apply()
}

// livingRules are the rules whose sockets were not closed by a command.
func livingRules(c *config.Config) (rules []config.Rule) {
	have := map[string]bool{}
	for i := range c.Sockets {
		have[c.Sockets[i].Name] = true
	}
	for _, r := range c.Rules {
		name, _, _ := strings.Cut(r.Socket.Name, "/")
		if have[name] || have[r.Socket.Name] {
			rules = append(rules, r)
		}
	}
	return rules
}

// epochTime is how long a reload waits for the lcores to use its state.
const epochTime = 2 * time.Second

// settleEpoch returns when every lcore uses the present state.
func (h *Host) settleEpoch() {
	for end := time.Now().Add(epochTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		behind := false
		for _, l := range h.Engine.Lcores() {
			behind = behind || l.Running() && l.Epoch() < h.Engine.Epoch()
		}
		if !behind {
			return
		}
	}
}

// spacesOf are the flow spaces of VRFs that leave.
func (h *Host) spacesOf(names []string) (all []*flowtable.Space) {
	v := h.Engine.View()
	for _, n := range names {
		if r := v.VRFByName(n); r != nil {
			all = append(all, r.TCP, r.UDP)
		}
	}
	return all
}

// newTables makes the flow spaces of VRFs that are new.
func (h *Host) newTables(d *difference) (map[string][2]*flowtable.Space, error) {
	out := map[string][2]*flowtable.Space{}
	def := &h.Engine.View().VRFs[0]
	shared := [2]*flowtable.Table{def.TCP.Table(), def.UDP.Table()}
	var made []*flowtable.Table
	for _, v := range d.addVRFs {
		tables, e := shared, d.next.VRFs[0].Ehash
		if v.Ehash != nil {
			own, err := h.tablesOf(v)
			if err != nil {
				return nil, err
			}
			tables, e = own, v.Ehash
			made = append(made, own[0], own[1])
		}
		s, err := h.spaces(v, e, tables)
		if err != nil {
			return nil, err
		}
		out[v.Name] = s
	}
	h.tables = append(h.tables, made...)
	h.Engine.AddTables(made...)
	return out, nil
}

// addPools makes the workers of pools that are new.
func (h *Host) addPools(d *difference, serve func([]*dataplane.Worker, []int)) {
	for _, p := range d.addPools {
		all, rings, cpus := h.pool(p, false)
		first := h.Engine.AddWorkers(all...)
		d.next.Bases[p.Name] = uint32(first)
		if len(rings) > 0 {
			serve(rings, cpus)
		}
	}
}

// digest stands for the contents of the flows file.
func digest(c *config.Config) (sum [sha256.Size]byte) {
	if c.Flows.UDP == "" {
		return sum
	}
	f, err := os.Open(c.Path(c.Flows.UDP))
	if err != nil {
		return sum // whoever reads it next says so
	}
	defer f.Close()
	w := sha256.New()
	if _, err := io.Copy(w, f); err != nil {
		return sum
	}
	w.Sum(sum[:0])
	return sum
}
