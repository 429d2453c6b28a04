package control

import (
	"maps"
	"slices"
	"strconv"
)

// each calls f for every verdict, in the order of the type.
func (v *Verdicts) each(f func(name string, n uint64)) {
	f("deliver", v.Deliver)
	f("drop", v.Drop)
	f("hold", v.Hold)
	f("forward", v.Forward)
	f("egress", v.Egress)
	f("punt", v.Punt)
}

func sortedKeys(m map[string]uint64) []string { return slices.Sorted(maps.Keys(m)) }

func eachKey(m map[string]uint64, first string, emit Emit) {
	for _, k := range sortedKeys(m) {
		emit(float64(m[k]), first, k)
	}
}

func eachVRF(f func(v *VRF, emit Emit)) func(*Snapshot, Emit) {
	return func(n *Snapshot, emit Emit) {
		for i := range n.VRFs {
			f(&n.VRFs[i], emit)
		}
	}
}

func portMetric(name, help string, get func(*Port) uint64) Metric {
	return Metric{Name: name, Help: help, Labels: []string{"port"}, each: func(n *Snapshot, emit Emit) {
		for i := range n.Ports {
			emit(float64(get(&n.Ports[i])), n.Ports[i].Name)
		}
	}}
}

func queueMetric(name, help string, get func(*Queue) uint64) Metric {
	return Metric{Name: name, Help: help, Labels: []string{"port", "queue"}, each: func(n *Snapshot, emit Emit) {
		for i := range n.Ports {
			for j := range n.Ports[i].Queues {
				q := &n.Ports[i].Queues[j]
				emit(float64(get(q)), n.Ports[i].Name, strconv.Itoa(q.Index))
			}
		}
	}}
}

func earlyMetric(name, help string, get func(*Early) uint64) Metric {
	return Metric{Name: name, Help: help, Labels: []string{"vrf", "proto"}, each: eachVRF(func(v *VRF, emit Emit) {
		emit(float64(get(&v.Early.TCP)), v.Name, "tcp")
		emit(float64(get(&v.Early.UDP)), v.Name, "udp")
	})}
}

func tableMetric(name, help string, get func(*Table) float64) Metric {
	return Metric{Name: name, Help: help, Gauge: true, Labels: []string{"vrf", "proto"}, each: eachVRF(func(v *VRF, emit Emit) {
		if v.Name != "-" {
			emit(get(&v.TCP), v.Name, "tcp")
			emit(get(&v.UDP), v.Name, "udp")
		}
	})}
}

func workerMetric(name, help string, gauge bool, get func(*Worker) float64) Metric {
	return Metric{Name: name, Help: help, Gauge: gauge, Labels: []string{"pool", "worker"}, each: func(n *Snapshot, emit Emit) {
		for i := range n.Workers {
			pool, index := splitMember(n.Workers[i].Name)
			emit(get(&n.Workers[i]), pool, index)
		}
	}}
}

func lcoreMetric(name, help string, gauge bool, get func(*Lcore) float64) Metric {
	return Metric{Name: name, Help: help, Gauge: gauge, Labels: []string{"lcore"}, each: func(n *Snapshot, emit Emit) {
		for i := range n.Lcores {
			emit(get(&n.Lcores[i]), strconv.Itoa(n.Lcores[i].Index))
		}
	}}
}

func bit(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
