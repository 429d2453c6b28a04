package gen

import (
	"fmt"
	"net/netip"

	"edemux/flowtable"
)

// Remote ports are what clients on Linux use, 32768 to 60999.
const (
	firstRemotePort = 32768
	remotePorts     = 61000 - firstRemotePort
	groups          = 8 // multicast groups
)

var (
	group4  = flowtable.AddrFrom(netip.MustParseAddr("239.1.0.1"))
	group6  = flowtable.AddrFrom(netip.MustParseAddr("ff0e::1:0:1"))
	router4 = flowtable.AddrFrom(netip.MustParseAddr("203.0.113.1"))
	router6 = flowtable.AddrFrom(netip.MustParseAddr("2001:db8:ffff::1"))
)

// space holds the addresses of one family.
type space struct {
	local, remote   netip.Prefix
	locals, remotes uint64         // how many addresses each has
	laddr, faddr    flowtable.Addr // the first of them
}

// most bounds the hosts taken from a large IPv6 prefix.
const mostHosts = 1 << 24

func (s *space) fill() (err error) {
	if s.laddr, s.locals, err = hosts("local", s.local); err != nil {
		return err
	}
	s.faddr, s.remotes, err = hosts("remote", s.remote)
	return err
}

// hosts returns the first host address of a prefix and how many there are; of
// prefixes with more than two addresses the first and the last are no hosts.
func hosts(flag string, p netip.Prefix) (flowtable.Addr, uint64, error) {
	if p.Masked() != p {
		return flowtable.Addr{}, 0, fmt.Errorf("gen: --%s %s has host bits: write %s", flag, p, p.Masked())
	}
	if p.Addr().Is4In6() || p.Addr().IsMulticast() {
		return flowtable.Addr{}, 0, fmt.Errorf("gen: --%s %s: want unicast addresses", flag, p)
	}
	a := flowtable.AddrFrom(p.Addr())
	n := uint64(1) << min(p.Addr().BitLen()-p.Bits(), 62)
	if n > 2 {
		n -= 2
		a.Lo++
	}
	if p.Addr().Is4() {
		return a, n, nil
	}
	return a, min(n, mostHosts), nil
}

// tuple is who a flow is between: packet orientation is remote to local.
type tuple struct {
	laddr, faddr flowtable.Addr
	lport, fport uint16
	v6, tcp      bool
	multicast    bool
}

// tuple computes flow i from its number alone. Different numbers give
// different flows: i is split into local port, local address, remote address
// and remote port as digits, and the remote port is only rotated by an amount
// that hangs on the remote address.
func (p *plan) tuple(i uint64) (t tuple) {
	s := &p.v4
	j := i
	t.v6 = p.onlyV6
	if p.bothFamilies {
		t.v6, j = i&1 == 1, i>>1
	}
	if t.v6 {
		s = &p.v6
	}
	t.tcp = p.onlyTCP || p.bothProtos && j&1 == 1
	nports := uint64(p.ports[1]-p.ports[0]) + 1
	t.lport = p.ports[0] + uint16(j%nports)
	j /= nports
	t.laddr = s.laddr
	t.laddr.Lo += j % s.locals
	j /= s.locals
	host := j % s.remotes
	t.faddr = s.faddr
	t.faddr.Lo += host
	t.fport = uint16(firstRemotePort + (mix(host^p.Seed<<20)%remotePorts+j/s.remotes)%remotePorts)
	if p.Multicast > 0 && !t.tcp && mix(i^0x6d63)%100 < uint64(p.Multicast) {
		t.multicast = true
		t.laddr = group4
		if t.v6 {
			t.laddr = group6
		}
		t.laddr.Lo += i % groups
	}
	return t
}
