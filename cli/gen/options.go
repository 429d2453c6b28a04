// Package gen makes captures: what `edemux gen` writes, and the frames that
// benchmarks hold in memory.
//
// Job: flows of UDP and TCP with their whole lives, as the host that receives
// them would record them; the same Options give the same bytes on every
// machine (integers only, own random numbers).
// Order: options.go says what, tuple.go which addresses, order.go whose turn,
// life.go what a flow sends next, wire.go and link.go the bytes, file.go the
// capture around them.
// Memory: 4 bytes per flow (8 with TCP, 4 more when shuffled, 12 for Zipf) and
// a buffer; nothing grows with the number of packets.
// Threads: one generator belongs to one goroutine.
package gen

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Options say what to generate. Zero values stand for the defaults given.
type Options struct {
	Flows   int    // 1000
	Packets int64  // frames in all; 0: as many as one life of every flow has
	Seed    uint64 // 0 is a seed like others

	Proto  string // udp (default), tcp, mixed
	Family string // v4 (default), v6, mixed
	Order  string // robin (default), shuffle, random, zipf

	Data        int    // datagrams, or TCP segments with data, in a flow's life: 4
	End         string // of a TCP life: fin (default), rst, none
	NoHandshake bool   // TCP begins in the middle
	Both        bool   // with what the local side answers

	Size      string // bytes of an Ethernet frame without its FCS: "60" (default), "imix", "60-1514"
	MTU       int    // longer IP datagrams are fragmented, TCP keeps below it; 0: no limit
	ICMP      int    // percent of packets that are followed by an ICMP error about their flow
	Multicast int    // percent of the UDP flows that go to multicast groups

	Local      []netip.Prefix // where packets go: 10.0.0.1/32, 2001:db8::1/128
	Remote     []netip.Prefix // where they come from: 198.18.0.0/15, 2001:db8:f::/64
	LocalPorts string         // "9000", or a range that flows take in turn
	VLANs      []string       // tag stacks that flows take in turn: "10", "100.20", "none"

	Link       string // ethernet (default), raw, sll, sll2, null
	Format     string // pcap (default), pcapng
	Resolution string // of times: ns (default), us
	Interfaces int    // of a pcapng file, port0, port1, ...: flows take them in turn; 1
	Rate       uint64 // frames per second of capture time: 1000000
	Start      int64  // time of the first frame, ns since 1970: 2025-01-01 00:00:00 UTC

	Pool    string // pool that WriteFlows names: web
	Workers int    // its workers: 4
}

const (
	defaultStart = 1735689600 * 1e9
	maxFlows     = 1 << 28
	maxFrame     = 65535 + 14 // an IP datagram of full length
)

// plan is Options checked and made into numbers.
type plan struct {
	Options
	v4, v6     space
	ports      [2]uint16 // first and last local port
	size       sizes
	vlans      [][]uint16
	link       linkKind
	ng, micros bool

	onlyV6, bothFamilies, onlyTCP, bothProtos bool
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

func newPlan(o Options) (*plan, error) {
	p := &plan{Options: o}
	for _, d := range []struct {
		v *string
		d string
	}{
		{&p.Proto, "udp"}, {&p.Family, "v4"}, {&p.Order, "robin"}, {&p.End, "fin"}, {&p.Size, "60"}, {&p.LocalPorts, "9000"},
		{&p.Link, "ethernet"}, {&p.Format, "pcap"}, {&p.Resolution, "ns"}, {&p.Pool, "web"},
	} {
		def(d.v, d.d)
	}
	def(&p.Flows, 1000)
	def(&p.Data, 4)
	def(&p.Interfaces, 1)
	def(&p.Rate, 1e6)
	def(&p.Start, defaultStart)
	def(&p.Workers, 4)
	for _, check := range []func() error{p.checkWords, p.checkNumbers, p.checkAddresses, p.checkVLANs} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *plan) checkWords() error {
	for _, c := range []struct {
		flag, value string
		words       []string
	}{
		{"proto", p.Proto, []string{"udp", "tcp", "mixed"}},
		{"family", p.Family, []string{"v4", "v6", "mixed"}},
		{"order", p.Order, []string{"robin", "shuffle", "random", "zipf"}},
		{"end", p.End, []string{"fin", "rst", "none"}},
		{"link", p.Link, linkNames},
		{"format", p.Format, []string{"pcap", "pcapng"}},
		{"resolution", p.Resolution, []string{"ns", "us"}},
	} {
		i := 0
		for i < len(c.words) && c.words[i] != c.value {
			i++
		}
		if i == len(c.words) {
			return fmt.Errorf("gen: --%s %q: want %s", c.flag, c.value, strings.Join(c.words, ", "))
		}
		if c.flag == "link" {
			p.link = linkKind(i)
		}
	}
	p.onlyV6, p.bothFamilies = p.Family == "v6", p.Family == "mixed"
	p.onlyTCP, p.bothProtos = p.Proto == "tcp", p.Proto == "mixed"
	p.ng, p.micros = p.Format == "pcapng", p.Resolution == "us"
	return nil
}

func (p *plan) checkNumbers() (err error) {
	for _, c := range []struct {
		flag         string
		value        int64
		lowest, most int64
	}{
		{"flows", int64(p.Flows), 1, maxFlows},
		{"packets", p.Packets, 0, 1 << 50},
		{"data", int64(p.Data), 1, 1 << 20},
		{"icmp", int64(p.ICMP), 0, 100},
		{"multicast", int64(p.Multicast), 0, 100},
		{"interfaces", int64(p.Interfaces), 1, 256},
		{"rate", int64(min(p.Rate, 1<<62)), 1, 1e9},
		{"workers", int64(p.Workers), 1, 1 << 16},
		{"start", p.Start, 0, (1<<32 - 1) * 1e9},
	} {
		if c.value < c.lowest || c.value > c.most {
			return fmt.Errorf("gen: --%s %d: want %d to %d", c.flag, c.value, c.lowest, c.most)
		}
	}
	if p.MTU != 0 && (p.MTU < 256 || p.MTU > 65535) {
		return fmt.Errorf("gen: --mtu %d: want 256 to 65535, or 0 for no limit", p.MTU)
	}
	if p.Interfaces > 1 && !p.ng {
		return fmt.Errorf("gen: --interfaces %d: only pcapng files have several (--format pcapng)", p.Interfaces)
	}
	if p.Multicast > 0 && p.Proto == "tcp" {
		return fmt.Errorf("gen: --multicast %d: TCP has no multicast", p.Multicast)
	}
	if p.ports, err = portRange(p.LocalPorts); err != nil {
		return err
	}
	p.size, err = parseSizes(p.Size)
	return err
}

func portRange(s string) (r [2]uint16, err error) {
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		b = a
	}
	lo, err1 := strconv.ParseUint(a, 10, 16)
	hi, err2 := strconv.ParseUint(b, 10, 16)
	if err1 != nil || err2 != nil || lo == 0 || hi < lo {
		return r, fmt.Errorf("gen: --local-ports %q: want a port or a range such as 9000-9999", s)
	}
	return [2]uint16{uint16(lo), uint16(hi)}, nil
}

func (p *plan) checkAddresses() error {
	p.v4 = space{local: netip.MustParsePrefix("10.0.0.1/32"), remote: netip.MustParsePrefix("198.18.0.0/15")}
	p.v6 = space{local: netip.MustParsePrefix("2001:db8::1/128"), remote: netip.MustParsePrefix("2001:db8:f::/64")}
	for _, l := range p.Local {
		p.space(l).local = l
	}
	for _, r := range p.Remote {
		p.space(r).remote = r
	}
	nports := uint64(p.ports[1]-p.ports[0]) + 1
	each := uint64(p.Flows)
	if p.Family == "mixed" {
		each = (each + 1) / 2
	}
	for family, s := range map[string]*space{"v4": &p.v4, "v6": &p.v6} {
		if p.Family != family && p.Family != "mixed" {
			continue
		}
		if err := s.fill(); err != nil {
			return err
		}
		if most := nports * s.locals * s.remotes * remotePorts; each > most {
			return fmt.Errorf("gen: --flows %d: %s and %s with %d local ports make only %d flows of %s",
				p.Flows, s.remote, s.local, nports, most, family)
		}
	}
	return nil
}

func (p *plan) space(pf netip.Prefix) *space {
	if pf.Addr().Is4() {
		return &p.v4
	}
	return &p.v6
}

func (p *plan) checkVLANs() error {
	for _, s := range p.VLANs {
		if s == "none" {
			p.vlans = append(p.vlans, nil)
			continue
		}
		var stack []uint16
		for id := range strings.SplitSeq(s, ".") {
			n, err := strconv.ParseUint(id, 10, 16)
			if err != nil || n > 4095 || len(stack) == 8 {
				return fmt.Errorf("gen: --vlan %q: want up to eight tags of 0 to 4095 such as 100.20, or none", s)
			}
			stack = append(stack, uint16(n))
		}
		if p.link == linkRaw || p.link == linkNull {
			return fmt.Errorf("gen: --vlan %s: link type %s has no tags", s, p.Link)
		}
		p.vlans = append(p.vlans, stack)
	}
	if p.vlans == nil {
		p.vlans = [][]uint16{nil}
	}
	return nil
}
