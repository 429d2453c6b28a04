package explain

import (
	"net/netip"

	"edemux/cli/exit"
	"edemux/cli/replay"
	"edemux/cli/setup"
	"edemux/dataplane"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// Tuple is a packet that was never captured: a TCP SYN or a UDP datagram.
type Tuple struct {
	Proto    string // tcp or udp
	Src, Dst netip.AddrPort
	Dev      string // interface it comes in on; "": the first
}

// ParseTuple reads `tcp|udp SADDR:SPORT DADDR:DPORT`.
func ParseTuple(args []string) (*Tuple, error) {
	if len(args) != 3 || args[0] != "tcp" && args[0] != "udp" {
		return nil, exit.Usagef("explain: want tcp|udp SADDR:SPORT DADDR:DPORT (see edemux explain --help)")
	}
	t := &Tuple{Proto: args[0]}
	for i, p := range []*netip.AddrPort{&t.Src, &t.Dst} {
		var err error
		if *p, err = netip.ParseAddrPort(args[i+1]); err != nil || p.Addr().Zone() != "" {
			return nil, exit.Usagef("explain: %s: want ADDR:PORT, for IPv6 [ADDR]:PORT", args[i+1])
		}
	}
	if t.Src.Addr().Is4() != t.Dst.Addr().Is4() {
		return nil, exit.Usagef("explain: %s and %s are of different families", args[1], args[2])
	}
	return t, nil
}

// Run sends the packet through a fresh engine.
func (t *Tuple) Run(o setup.Options) (*replay.At, error) {
	if o.File == "" && o.Local == "" {
		o.Local = "all"
	}
	h, err := setup.Open(o)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	port, stack, err := t.device(h)
	if err != nil {
		return nil, err
	}
	b := packettest.New().Eth(packettest.MAC{2, 0, 0, 0, 0, 9}, portMAC(h, port))
	for _, vid := range stack {
		b.VLAN(vid)
	}
	if t.Src.Addr().Is4() {
		b.IPv4(t.Src.Addr(), t.Dst.Addr())
	} else {
		b.IPv6(t.Src.Addr(), t.Dst.Addr())
	}
	if t.Proto == "tcp" {
		b.TCP(t.Src.Port(), t.Dst.Port(), packet.SYN).Seq(1, 0)
	} else {
		b.UDP(t.Src.Port(), t.Dst.Port())
	}
	burst := dataplane.NewBurst()
	burst.N, burst.Frames[0] = 1, b.Frame()
	burst.Frames[0].Port, burst.Frames[0].TS = port, 1
	at := &replay.At{Host: h, Before: h.Engine.Counters()}
	h.Lcore.Walk(burst, 0)
	at.After, at.Names = h.Engine.Counters(), h.Engine.Names()
	at.Frame, at.Meta, at.Decision, at.Copies = burst.Frames[0], burst.Metas[0], burst.Dec[0], burst.Copies
	return at, nil
}

// device finds the port and the tags that lead to the interface.
func (t *Tuple) device(h *setup.Host) (uint16, []uint16, error) {
	ports := h.Config.Ports
	if len(ports) == 0 {
		name := t.Dev
		if name == "" {
			name = "port0"
		}
		n := h.Ports.Add(name)
		return n, nil, h.KnowPort(n)
	}
	if t.Dev == "" {
		return 0, nil, nil
	}
	for i := range ports {
		if ports[i].Name == t.Dev {
			return uint16(i), nil, nil
		}
		for _, s := range ports[i].VLANs.Sub {
			if s.Name == t.Dev {
				return uint16(i), s.Stack, nil
			}
		}
	}
	return 0, nil, exit.Usagef("explain: --dev: no interface %q in %s", t.Dev, h.Config.File)
}

// portMAC is the address that packets to the port carry.
func portMAC(h *setup.Host, port uint16) packettest.MAC {
	m := packettest.MAC{2, 0, 0, 0, 0, 1}
	if p := h.Engine.Ports()[port]; p.Known {
		for i := range m {
			m[i] = byte(p.MAC >> (8 * (5 - i)))
		}
	}
	return m
}
