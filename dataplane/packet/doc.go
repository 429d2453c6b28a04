// Package packet turns the bytes of a frame into a Meta, without copying or
// allocating.
//
// Job: link layer, VLAN tags, IPv4 and IPv6 headers, extension headers and the
// transport header of one frame; the checks that Linux makes of them, each
// under its drop reason; checksums; the datagram inside an ICMP error.
//
// Order: fields are host-order numbers; offsets are into Frame.Data.
//
// Threads: no state; every function may run on any number of lcores.
//
// Ownership: Frame.Data belongs to the port. Nothing here keeps it.
//
// Kernel counterpart: eth_type_trans, ip_rcv_core, ip_options_compile,
// ip6_rcv_core, net/ipv6/exthdrs.c, and the heads of udp_rcv, tcp_v4_rcv,
// icmp_rcv. Lengths are those of the wire: what the snap length cut off is not
// an error of the packet, and what is there is used.
package packet
