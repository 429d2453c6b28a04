package judge

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Tables of routes. Input and output look in different ones, so that an address
// which is local to packets that come in can still be answered.
const (
	tableVRF   = 1000 // + VRF: output inside a VRF
	tableInput = 2000 // + VRF: what comes in on its interfaces
)

// makePorts makes a veth pair per port and per sub-interface: this end in the
// thread's namespace, the other one in host. A sub-interface is a pair of its
// own, which frames reach without their tags.
func (k *Kernel) makePorts() error {
	for i, name := range k.net.Ports {
		if err := k.makePair(name, i); err != nil {
			return fmt.Errorf("port %s: %w", name, err)
		}
	}
	for _, s := range k.net.Subs {
		if err := k.makePair(s.Name, s.Port); err != nil {
			return fmt.Errorf("interface %s: %w", s.Name, err)
		}
	}
	return nil
}

func (k *Kernel) makePair(name string, port int) error {
	n := len(k.ports)
	p := &iface{name: name, dev: deviceName(name, n), mac: portMAC(k.net, port)}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = fmt.Sprintf("peer%d", n), 65535
	v := netlink.NewVeth(attrs)
	v.PeerName, v.PeerHardwareAddr, v.PeerMTU = p.dev, net.HardwareAddr(p.mac[:]), 65535
	v.PeerNamespace = netlink.NsFd(int(k.host))
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("veth: %w", err)
	}
	peer, err := netlink.LinkByName(attrs.Name)
	if err != nil {
		return err
	}
	p.peerIndex = peer.Attrs().Index
	if err := setSysctls([]sysctlValue{{"ipv6/conf/" + attrs.Name + "/disable_ipv6", 1, true}}); err != nil {
		return err
	}
	k.ports = append(k.ports, p)
	k.ifaces[name] = p
	return netlink.LinkSetUp(peer)
}

// deviceName is the name where Linux takes it, else one made up.
func deviceName(name string, i int) string {
	if len(name) < unix.IFNAMSIZ && name != "lo" && name != "all" && name != "default" {
		return name
	}
	return fmt.Sprintf("edemux%d", i)
}

// portMAC is the configured MAC of a port, or one made up.
func portMAC(n *Net, i int) (mac [6]byte) {
	v := uint64(0x02ed00000001) + uint64(i)
	if i < len(n.MACs) && n.MACs[i] != 0 {
		v = n.MACs[i]
	}
	for b := range mac {
		mac[b] = byte(v >> (8 * (5 - b)))
	}
	return mac
}

// configure sets up the thread's namespace: devices, rules, addresses, routes.
func (k *Kernel) configure() error {
	for i, v := range k.net.VRFs {
		for _, name := range v.Ifaces {
			if p := k.ifaces[name]; p != nil {
				p.vrf = i
			}
		}
	}
	if lo, err := k.nl.LinkByName("lo"); err != nil || k.nl.LinkSetUp(lo) != nil {
		return fmt.Errorf("loopback device: %w", err)
	}
	for _, step := range []func() error{k.vrfDevices, k.linksUp, k.policy, k.accept} {
		if err := step(); err != nil {
			return err
		}
	}
	for i := range k.net.VRFs {
		if err := k.addresses(i); err != nil {
			return err
		}
		if err := k.SetSysctls(i); err != nil {
			return err
		}
	}
	return nil
}

// lacking explains a device type that the kernel does not have.
func lacking(err error, what, type_ string) error {
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fmt.Errorf("%s: this kernel has no %s: use --kernel VMLINUZ", what, type_)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (k *Kernel) vrfDevices() error {
	for i, v := range k.net.VRFs {
		if i == 0 {
			continue
		}
		attrs := netlink.NewLinkAttrs()
		attrs.Name = deviceName(v.Name, 200+i)
		if err := k.nl.LinkAdd(&netlink.Vrf{LinkAttrs: attrs, Table: uint32(tableVRF + i)}); err != nil {
			return lacking(err, "vrf "+v.Name, "VRF devices")
		}
		l, err := k.nl.LinkByName(attrs.Name)
		if err != nil {
			return fmt.Errorf("vrf %s: %w", v.Name, err)
		}
		if err := k.nl.LinkSetUp(l); err != nil {
			return fmt.Errorf("vrf %s: %w", v.Name, err)
		}
		for _, name := range v.Ifaces {
			m, err := k.nl.LinkByName(k.ifaces[name].dev)
			if err != nil {
				return fmt.Errorf("interface %s: %w", name, err)
			}
			if err := k.nl.LinkSetMasterByIndex(m, l.Attrs().Index); err != nil {
				return fmt.Errorf("interface %s: enslave to %s: %w", name, v.Name, err)
			}
		}
		k.ifaces[v.Name] = &iface{name: v.Name, dev: attrs.Name, vrf: i, index: l.Attrs().Index}
	}
	return nil
}

// linksUp brings the interfaces up and gives each a gateway that needs no
// neighbour discovery.
func (k *Kernel) linksUp() error {
	for _, p := range k.ifaces {
		l, err := k.nl.LinkByName(p.dev)
		if err != nil {
			return fmt.Errorf("interface %s: %w", p.name, err)
		}
		p.index = l.Attrs().Index
		if err := k.nl.LinkSetUp(l); err != nil {
			return fmt.Errorf("interface %s: %w", p.name, err)
		}
		if k.isVRF(p) {
			continue
		}
		for _, gw := range gateways(p) {
			n := &netlink.Neigh{LinkIndex: p.index, State: netlink.NUD_PERMANENT, IP: gw.AsSlice(),
				HardwareAddr: net.HardwareAddr{2, 0xed, 0, 1, 0, 1}}
			if err := k.nl.NeighSet(n); err != nil {
				return fmt.Errorf("interface %s: gateway: %w", p.name, err)
			}
		}
	}
	return nil
}

func (k *Kernel) isVRF(p *iface) bool {
	return p.vrf != 0 && p.name == k.net.VRFs[p.vrf].Name
}

// gateways are the next hops of an interface, IPv4 and IPv6.
func gateways(p *iface) [2]netip.Addr {
	return [2]netip.Addr{
		netip.AddrFrom4([4]byte{169, 254, byte(p.index >> 8), byte(p.index)}),
		netip.MustParseAddr("fe80::ed"),
	}
}

// policy separates input from output: what comes in on an interface is looked
// up in its VRF's input table and nowhere else.
func (k *Kernel) policy() error {
	for _, family := range families {
		for _, p := range k.ifaces {
			for pref, table := range []int{tableInput + p.vrf, 0} {
				r := netlink.NewRule()
				r.Family, r.Priority, r.IifName = family, 10+pref, p.dev
				if r.Table = table; table == 0 {
					r.Type = frUnreachable
				}
				if err := k.nl.RuleAdd(r); err != nil {
					return fmt.Errorf("interface %s: rule: %w", p.name, err)
				}
			}
		}
		r := netlink.NewRule()
		r.Family, r.Priority, r.Table = family, 0, unix.RT_TABLE_LOCAL
		if err := k.nl.RuleDel(r); err != nil {
			return fmt.Errorf("rule of the local table: %w", err)
		}
	}
	return nil
}

var families = [2]int{unix.AF_INET, unix.AF_INET6}

const frUnreachable = 7 // FR_ACT_UNREACHABLE

// accept sets the l3mdev sysctls, which only matter where there are VRFs.
func (k *Kernel) accept() error {
	return setSysctls([]sysctlValue{
		{"ipv4/tcp_l3mdev_accept", b2i(k.net.TCPL3mdevAccept), true},
		{"ipv4/udp_l3mdev_accept", b2i(k.net.UDPL3mdevAccept), true},
	})
}
