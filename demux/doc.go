// Package demux decides which socket gets a packet, as Linux decides it.
//
// Job: sockets, the ordered chains that lookups scan, scores, lookup rules,
// reuseport groups with their programs, devices, VRFs and routes. Pure
// functions over an immutable View.
//
// Threads: any number of threads look up in a View without locks; one control
// goroutine edits a Builder and publishes Views, which the dataplane swaps in
// atomically and loads once per burst. A View never changes.
//
// Ownership: a View keeps what it refers to alive; a pointer from a View is
// valid as long as the View and is not to be written through.
//
// Kernel counterparts: net/ipv4/inet_hashtables.c, net/ipv6/inet6_hashtables.c,
// net/ipv4/udp.c, net/ipv6/udp.c, net/core/sock_reuseport.c,
// net/ipv4/inet_connection_sock.c, net/ipv4/route.c.
package demux
