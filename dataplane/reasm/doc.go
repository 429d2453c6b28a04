// Package reasm puts fragmented IPv4 and IPv6 datagrams together again.
//
// Job: hold fragments until their datagram is whole, within the kernel's bounds
// of time and memory, and discard what overlaps or contradicts itself.
//
// Order: fragments of one datagram may come in any order. A datagram is whole
// with the fragment that closes its last gap.
//
// Threads: Add and Sweep may be called by any number of lcores. A shard of the
// queues, chosen by the source address, is held by spinning for as long as it
// takes to link one fragment; the copy out is made outside.
//
// Ownership: bytes of fragments are copied in. A whole datagram is copied into
// the caller's Buffer and valid until its next Add. Memory is one arena per
// family, which grows to the limit and is reused, never freed.
//
// Kernel counterpart: net/ipv4/ip_fragment.c, net/ipv6/reassembly.c,
// net/ipv4/inet_fragment.c.
package reasm
