package judge

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"edemux/demux"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// addresses gives VRF i its addresses and routes.
func (k *Kernel) addresses(i int) error {
	v := &k.net.VRFs[i]
	dev := k.homeOf(i)
	local := v.Local
	if v.Every {
		local = []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}
		if err := setSysctls([]sysctlValue{{"ipv6/ip_nonlocal_bind", 1, false}}); err != nil {
			return err
		}
	}
	for _, p := range local {
		if p.IsSingleIP() {
			if err := k.hostAddress(dev, p); err != nil {
				return err
			}
		} else if err := k.route(k.bindTable(i), unix.RTN_LOCAL, p, 1, netip.Addr{}); err != nil {
			return err
		}
		if err := k.route(tableInput+i, unix.RTN_LOCAL, p, 1, netip.Addr{}); err != nil {
			return err
		}
	}
	for _, a := range v.Broadcast {
		for _, table := range []int{k.bindTable(i), tableInput + i} {
			if err := k.route(table, unix.RTN_BROADCAST, netip.PrefixFrom(a, a.BitLen()), dev, netip.Addr{}); err != nil {
				return err
			}
		}
	}
	for _, p := range k.ifaces {
		if p.vrf == i && !k.isVRF(p) {
			if err := k.ways(i, p); err != nil {
				return err
			}
		}
	}
	return k.forwards(i)
}

// homeOf is the device that carries the addresses of a VRF.
func (k *Kernel) homeOf(i int) int {
	if i > 0 {
		return k.ifaces[k.net.VRFs[i].Name].index
	}
	for _, p := range k.ports {
		if p.vrf == 0 {
			return p.index
		}
	}
	return 1
}

// bindTable is the table that bind() asks.
func (k *Kernel) bindTable(i int) int {
	if i == 0 {
		return unix.RT_TABLE_LOCAL
	}
	return tableVRF + i
}

func (k *Kernel) hostAddress(dev int, p netip.Prefix) error {
	a := &netlink.Addr{IPNet: ipNet(p), Flags: unix.IFA_F_NODAD | unix.IFA_F_NOPREFIXROUTE, LinkIndex: dev}
	if p.Addr().IsLoopback() {
		return nil // the loopback device has it
	}
	link := &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: dev}}
	if err := k.nl.AddrAdd(link, a); err != nil {
		return fmt.Errorf("address %s: %w", p.Addr(), err)
	}
	return nil
}

// ways gives an interface its way out, and its multicast route in.
func (k *Kernel) ways(i int, p *iface) error {
	table := unix.RT_TABLE_MAIN
	if i > 0 {
		table = tableVRF + i
	}
	for f, gw := range gateways(p) {
		src, _ := HostAddr(&k.net.VRFs[i], f == 0)
		r := &netlink.Route{LinkIndex: p.index, Gw: gw.AsSlice(), Table: table, Priority: 100 + p.index,
			Flags: int(netlink.FLAG_ONLINK), Dst: ipNet(netip.PrefixFrom(zero(gw), 0))}
		if src.IsValid() && !src.IsLoopback() {
			r.Src = src.AsSlice()
		}
		if err := k.nl.RouteAdd(r); err != nil {
			return fmt.Errorf("interface %s: default route: %w", p.name, err)
		}
	}
	mcast := netip.MustParsePrefix("ff00::/8")
	if err := k.route(tableInput+i, unix.RTN_MULTICAST, mcast, p.index, netip.Addr{}); err != nil {
		return err
	}
	return nil
}

// forwards adds the routes of a VRF for packets that come in.
func (k *Kernel) forwards(i int) error {
	v := &k.net.VRFs[i]
	for _, r := range v.Routes {
		p := k.ifaces[r.Via]
		gw := gateways(p)[b2i(r.To.Addr().Is6())]
		if err := k.route(tableInput+i, unix.RTN_UNICAST, r.To, p.index, gw); err != nil {
			return err
		}
	}
	return nil
}

// route adds one route.
func (k *Kernel) route(table, typ int, to netip.Prefix, dev int, gw netip.Addr) error {
	r := &netlink.Route{LinkIndex: dev, Table: table, Type: typ, Dst: ipNet(to), Scope: netlink.SCOPE_UNIVERSE}
	switch typ {
	case unix.RTN_LOCAL:
		r.Scope = netlink.SCOPE_HOST
	case unix.RTN_BROADCAST:
		r.Scope = netlink.SCOPE_LINK
	}
	if gw.IsValid() {
		r.Gw, r.Flags = gw.AsSlice(), int(netlink.FLAG_ONLINK)
	}
	if err := k.nl.RouteAppend(r); err != nil {
		return fmt.Errorf("route to %s: %w", to, err)
	}
	return nil
}

// routeFrom makes the route to a remote choose a local address.
func (k *Kernel) routeFrom(vrf int, to, src netip.Addr) error {
	to = to.Unmap()
	for _, p := range k.ifaces {
		if p.vrf != vrf || k.isVRF(p) {
			continue
		}
		table := unix.RT_TABLE_MAIN
		if vrf > 0 {
			table = tableVRF + vrf
		}
		r := &netlink.Route{LinkIndex: p.index, Gw: gateways(p)[b2i(to.Is6())].AsSlice(), Table: table, Priority: 100 + p.index,
			Flags: int(netlink.FLAG_ONLINK), Dst: ipNet(netip.PrefixFrom(to, to.BitLen())), Src: src.Unmap().AsSlice()}
		if err := k.nl.RouteReplace(r); err != nil {
			return fmt.Errorf("route to %s from %s: %w", to, src, err)
		}
	}
	return nil
}

// HostAddr is the first single address of a family that is local to v.
func HostAddr(v *VRF, v4 bool) (netip.Addr, bool) {
	for _, p := range v.Local {
		if p.IsSingleIP() && p.Addr().Is4() == v4 {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

func zero(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// SetSysctls applies the switches of VRF i as the Net has them now. The
// namespace has them once: VRFs of one Net must agree.
func (k *Kernel) SetSysctls(i int) error {
	s := &k.net.VRFs[i].Sysctl
	list := []sysctlValue{
		{"ipv4/ip_early_demux", b2i(s.IPEarlyDemux), false},
		{"ipv4/tcp_early_demux", b2i(s.TCPEarlyDemux), false},
		{"ipv4/udp_early_demux", b2i(s.UDPEarlyDemux), false},
		{"ipv4/tcp_migrate_req", b2i(s.TCPMigrateReq), true},
		{"ipv4/tcp_tw_reuse", s.TCPTwReuse, true},
		{"ipv4/tcp_max_syn_backlog", s.TCPMaxSynBacklog, false},
		{"ipv4/tcp_max_tw_buckets", s.TCPMaxTwBuckets, false},
		{"core/somaxconn", 1 << 20, true},
	}
	if err := setSysctls(list); err != nil {
		return err
	}
	text := fmt.Sprintf("%d %d", s.PortLow, s.PortHigh)
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", []byte(text), 0o644); err != nil {
		return fmt.Errorf("sysctl ip_local_port_range: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_local_reserved_ports", []byte(reservedText(s)), 0o644); err != nil {
		return fmt.Errorf("sysctl ip_local_reserved_ports: %w", err)
	}
	return nil
}

// reservedText writes the reserved ports as ranges.
func reservedText(s *demux.Sysctl) string {
	var b strings.Builder
	for p := 0; p < 1<<16; p++ {
		if !s.ReservedPort(uint16(p)) {
			continue
		}
		from := p
		for p+1 < 1<<16 && s.ReservedPort(uint16(p+1)) {
			p++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d-%d", from, p)
	}
	return b.String()
}
