package dpdkport

import "edemux/dataplane/dpdk"

// Forward sends frame i of the burst in hand on through an interface of a port: one
// hop less, new addresses, the tags of that interface. l3 is the offset of the IP
// header. What cannot be sent is counted. What ip_forward does.
func (q *Queue) Forward(i int, l3 uint32, to uint16, iface string) {
	if !q.forward(i, int(l3), to, iface) {
		q.port.unsent.Add(1)
	}
}

// forward reports whether the frame was dealt with.
func (q *Queue) forward(i, l3 int, to uint16, iface string) bool {
	if q.lane == nil || q.rx.Kept(i) {
		return false
	}
	out := q.lane.to(to)
	m := q.rx.Mbuf(i)
	head := m.Head()
	if out == nil || l3 >= len(head) {
		return false
	}
	if !dpdk.DecTTL(head[l3:]) {
		q.port.expired.Add(1)
		return true
	}
	stack, have := q.set.plan.Stacks[iface], dpdk.TagBytes(head)
	if (have > 0 || len(stack) > 0 || q.rx.Stripped(i)) && !m.Retag(have, stack) {
		return false
	}
	return out.send(q.rx.Keep(i))
}
