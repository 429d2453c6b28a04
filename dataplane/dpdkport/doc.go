// Package dpdkport makes ports of DPDK devices: port.Port and port.RxQueue for
// the lcores that poll, dataplane.Tx for the workers and verdicts that send.
//
// Job: size pools, open devices, give every sending thread a transmit queue, and
// see that each mbuf has one owner: the receive queue until its next poll, a
// worker's ring, or a transmit queue. Order: Plan, EAL, Open, Bind each queue to
// its lcore, start, poll, close the ports, Close. Threads: a Queue and its lane
// belong to one lcore, a worker's Tx to the thread that polls its ring; what both
// use is behind a lock. Errors: *dpdk.Error. Without the tag dpdk there is no EAL
// and so nothing here comes into being.
// Kernel counterpart: napi_poll, dev_queue_xmit and ip_forward.
package dpdkport
