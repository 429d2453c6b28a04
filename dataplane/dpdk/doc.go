// Package dpdk is a thin binding of our own over libdpdk (22.11 and newer).
//
// Job: EAL, lcores, mempools, ports, bursts, rings and telemetry, shaped so that
// the walk crosses into C once per burst. Built with the tag dpdk; without it
// Init returns ErrNotBuilt and nothing else of the package can be reached.
//
// Threads: set-up and tear-down belong to one control goroutine; a receive or a
// transmit queue belongs to the one lcore that polls it; telemetry callbacks come
// from threads of DPDK. Memory: bursts, mbufs and descriptors live in C memory
// and no Go pointer crosses. A frame's bytes are borrowed until the next Poll of
// its queue, unless Keep handed the mbuf over.
//
// Hand-over between lcores: mbufs travel through any bounded ring of the engine
// as plain Mbuf words, which needs no crossing; Ring binds rte_ring for what
// DPDK itself reads (the ring port that captures are fed through).
package dpdk
