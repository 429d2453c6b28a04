// Package dataplane carries packets from a burst of frames to the rings of
// workers, deciding for each what Linux would decide.
//
// Job: the walk (walk.go reads as its list), the lcore that runs it, TCP seen
// from one side, delivery to workers, and the counters of all this.
//
// Order: parse, l3mdev, early demux, route, reassembly, lookup with group
// selection inside (as Linux selects inside the scan), deliver. Stages before
// the decision look at the whole burst (parse, hash, prefetch); decisions are
// taken one packet at a time in arrival order, so that bursts of any size give
// the same result.
//
// Threads: an Lcore belongs to one thread, which calls Walk. The demux.View is
// loaded once per burst. Engine methods are control code: one caller at a
// time, never on an lcore.
//
// Ownership: frames are borrowed from the port until Walk returns, except what
// was handed to a worker ring, whose consumer frees it.
//
// Kernel counterpart: net/ipv4/ip_input.c, net/ipv6/ip6_input.c,
// net/ipv4/tcp_ipv4.c, net/ipv4/udp.c.
package dataplane
