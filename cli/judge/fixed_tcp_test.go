package judge

import (
	"fmt"
	"testing"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/demux"
)

const (
	syn = packet.SYN
	ack = packet.ACK
	fin = packet.FIN
	rst = packet.RST
)

// seg sends a segment on port 0 and CPU 0.
func (t *trialOf) seg(src, dst string, flags uint8, seq uint32, payload ...byte) *trialOf {
	return t.segOn(0, 0, src, dst, flags, seq, payload...)
}

func (t *trialOf) segOn(port, cpu int, src, dst string, flags uint8, seq uint32, payload ...byte) *trialOf {
	b := segment(&t.Net, port, ap(src), ap(dst), flags, seq, serverISN+1, payload...)
	return t.do(send(port, cpu, b, "tcp %s > %s flags %#x seq %d, %d bytes", src, dst, flags, seq, len(payload)))
}

// shake is a handshake and a byte of data.
func (t *trialOf) shake(src, dst string) *trialOf { return t.shakeOn(0, 0, src, dst) }

func (t *trialOf) shakeOn(port, cpu int, src, dst string) *trialOf {
	return t.segOn(port, cpu, src, dst, syn, 100).segOn(port, cpu, src, dst, ack, 101).segOn(port, cpu, src, dst, ack|packet.PSH, 101, 7)
}

func clients(addr string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s:%d", addr, 3000+i))
	}
	return all
}

// TestFixedListeners is section 4: order of the chain, scores, groups.
func TestFixedListeners(t *testing.T) {
	needRoot(t)
	const dst, dst6 = "10.0.0.1:80", "[2001:db8::1]:80"
	all := []*Socket{tcp("exact", dst), tcp("wild", "0.0.0.0:80"), tcp("six", dst6), tcp("any6", "[::]:80").with(v6only)}
	for i := range all {
		s := fixed(fmt.Sprintf("exact before wildcard %d", i)).open(append(append([]*Socket{}, all[i:]...), all[:i]...)...)
		s.shake("10.0.0.9:1", dst).shake("10.0.0.9:2", "10.0.0.2:80").shake("[2001:db8::9]:1", dst6).shake("[2001:db8::9]:2", "[2001:db8::2]:80")
		s.do(Step{Close: "exact"}, Step{Close: "six"}).shake("10.0.0.9:3", dst).shake("[2001:db8::9]:3", dst6).run(t)
	}
	for _, e := range [][2]string{{"10.0.0.9", dst}, {"[2001:db8::9]", dst6}} {
		dev := tcp("dev", e[1]).with(reuseport).with(onDev("eth0"))
		group := members(2, demux.TCP, "m", e[1])
		fixed("device behind a group "+e[1]).open(dev).open(group...).shake(e[0]+":1", e[1]).shakeOn(1, 0, e[0]+":2", e[1]).run(t)
		fixed("device before a group "+e[1]).open(group...).open(dev).shake(e[0]+":1", e[1]).shakeOn(1, 0, e[0]+":2", e[1]).run(t)
		fixed("two devices "+e[1]).open(tcp("zero", e[1]).with(onDev("eth0")), tcp("one", e[1]).with(onDev("eth1"))).
			shake(e[0]+":1", e[1]).shakeOn(1, 0, e[0]+":2", e[1]).segOn(1, 0, e[0]+":1", e[1], ack, 102).run(t)
	}
	for i := range 2 {
		a, b := tcp("four", "0.0.0.0:80").with(onDev("eth1")), tcp("six", "[::]:80").with(onDev("eth0"))
		c := tcp("plain", "0.0.0.0:80").with(reuseport)
		order := [][]*Socket{{a, b, c}, {c, b, a}}[i]
		fixed(fmt.Sprintf("dual-stack on a device %d", i)).open(order...).shake("10.0.0.9:1", dst).shakeOn(1, 0, "10.0.0.9:2", dst).run(t)
	}
	for i := range 2 {
		four, six := members(5, demux.TCP, "four", "0.0.0.0:80"), members(5, demux.TCP, "six", "[::]:80")
		order := [][]*Socket{append(four[:5:5], six...), append(six[:5:5], four...)}[i]
		s := fixed(fmt.Sprintf("dual-stack groups %d", i)).open(order...)
		for _, c := range clients("10.0.0.9", 8) {
			s.shake(c, dst)
		}
		s.run(t)
	}
}

// TestFixedTCPGroup: programs see the payload behind the options, and requests
// stay with their member.
func TestFixedTCPGroup(t *testing.T) {
	needRoot(t)
	const dst = "10.0.0.1:80"
	s := fixed("a SYN without data is member 0").open(members(3, demux.TCP, "m", dst)...).do(Step{Attach: &Attach{"m1", "ld [0]; ret a"}})
	s.shake("10.0.0.9:1", dst).seg("10.0.0.9:2", dst, syn, 100, 0, 0, 0, 1).seg("10.0.0.9:2", dst, ack, 101).run(t)
	s = fixed("port of the remote").open(members(3, demux.TCP, "m", dst)...).do(Step{Attach: &Attach{"m0", "ldh [-1048556]; mod #3; ret a"}})
	for _, c := range clients("10.0.0.9", 6) {
		s.shake(c, dst)
	}
	s.do(Step{Close: "m0"})
	for _, c := range clients("10.1.0.9", 6) {
		s.shake(c, dst)
	}
	s.run(t)
	s = fixed("listen order is index order")
	for i, l := range members(3, demux.TCP, "m", dst) {
		if i == 0 {
			l.ProgBeforeBind = "ldh [-1048556]; ret a"
		}
		s.open(l)
	}
	s.seg("10.0.0.9:1", dst, syn, 5).seg("10.0.0.9:1", dst, ack, 6).seg("10.0.0.9:2", dst, syn, 5).seg("10.0.0.9:2", dst, ack, 6).run(t)
	for order := range 3 {
		s = fixed(fmt.Sprintf("so_incoming_cpu %d", order))
		for i := range cpus {
			l := tcp(fmt.Sprintf("c%d", i), "0.0.0.0:80").with(reuseport)
			if order == 0 {
				l.IncomingCPU = int32(i)
			}
			s.open(l)
			if order == 1 {
				s.do(Step{CPU: &SetCPU{l.Name, int32(i)}})
			}
		}
		for i := range cpus {
			if order == 2 {
				s.do(Step{CPU: &SetCPU{fmt.Sprintf("c%d", i), int32(i)}})
			}
		}
		s.open(tcp("none", "0.0.0.0:80").with(reuseport))
		if order > 0 {
			s.do(Step{Close: "none"})
		}
		for i := range cpus {
			for _, c := range clients(fmt.Sprintf("10.%d.0.9", i), 6) {
				s.shakeOn(0, i, c, dst)
			}
		}
		s.run(t)
	}
}

// TestFixedTCPLife: requests, TIME_WAIT, resets, closes in between.
func TestFixedTCPLife(t *testing.T) {
	needRoot(t)
	for _, e := range [][2]string{{"10.0.0.9:1", "10.0.0.1:80"}, {"[2001:db8::9]:1", "[2001:db8::1]:80"}} {
		src, dst := e[0], e[1]
		hangup := Step{Hangup: &Hangup{ap(src), ap(dst)}}
		l := func() *Socket { return tcp("l", dst) }
		fixed("request outlives another SYN "+dst).open(l()).seg(src, dst, syn, 100).seg(src, dst, syn, 100).seg(src, dst, ack, 101, 1).run(t)
		fixed("listener closes before the ACK "+dst).open(l()).seg(src, dst, syn, 100).do(Step{Close: "l"}).seg(src, dst, ack, 101).run(t)
		fixed("another listener after the SYN "+dst).open(l()).seg(src, dst, syn, 100).open(tcp("on", dst).with(onDev("eth0"))).
			do(Step{Close: "l"}).open(tcp("again", dst).with(reuseaddr)).seg(src, dst, ack, 101).run(t)
		fixed("connection outlives its listener "+dst).open(l()).shake(src, dst).do(Step{Close: "l"}).seg(src, dst, ack, 102, 1, 2).
			seg("10.0.0.9:7", "10.0.0.1:80", syn, 1).run(t)
		fixed("resets "+dst).open(l()).shake(src, dst).seg(src, dst, rst, 1<<30).seg(src, dst, ack, 102, 3).seg(src, dst, rst, 103).
			seg(src, dst, ack, 103).seg(src, dst, syn, 500).seg(src, dst, ack, 501).run(t)
		fixed("reset of a request "+dst).open(l()).seg(src, dst, syn, 100).seg(src, dst, rst, 101).seg(src, dst, ack, 101).run(t)
		end := fixed("TIME_WAIT "+dst).open(l()).shake(src, dst).do(hangup).seg(src, dst, fin|ack, 102).seg(src, dst, ack, 103)
		end.seg(src, dst, syn, 50).seg(src, dst, syn, 5000).seg(src, dst, ack, 5001, 1).run(t)
		fixed("SYN on TIME_WAIT, other member "+dst).open(members(2, demux.TCP, "m", dst)...).do(Step{Attach: &Attach{"m0", "ret #0"}}).
			shake(src, dst).do(hangup).seg(src, dst, fin|ack, 102).do(Step{Attach: &Attach{"m0", "ret #1"}}).seg(src, dst, syn, 5000).seg(src, dst, ack, 5001).run(t)
		fixed("SYN on TIME_WAIT, nobody listens "+dst).open(l()).shake(src, dst).do(hangup).seg(src, dst, fin|ack, 102).do(Step{Close: "l"}).
			seg(src, dst, syn, 5000).seg(src, dst, ack, 103).run(t)
		fixed("strangers "+dst).open(l()).seg(src, dst, ack, 1).seg(src, dst, rst, 1).seg(src, dst, fin, 1).seg(src, dst, 0, 1).
			seg(src, dst, syn|ack, 1).seg(src, dst, syn|rst, 1).seg(src, dst, syn|fin, 1).run(t)
		fixed("nobody "+dst).seg(src, dst, syn, 1).seg(src, dst, ack, 1).seg(src, dst, rst, 1).seg(src, dst, fin, 1).run(t)
	}
}

// TestFixedMigrate is section 6.10 and migrate_reuseport, without programs.
func TestFixedMigrate(t *testing.T) {
	needRoot(t)
	const dst = "10.0.0.1:80"
	for on := range 2 {
		s := fixed(fmt.Sprintf("tcp_migrate_req %d", on)).do(Step{Sysctl: &SetSysctl{0, "tcp_migrate_req", on}}).
			open(members(4, demux.TCP, "m", dst)...).do(Step{Attach: &Attach{"m0", "ret #0"}})
		for _, c := range clients("10.0.0.9", 5) {
			s.seg(c, dst, syn, 100)
		}
		s.do(Step{Close: "m0"}, Step{Close: "m1"}, Step{Close: "m2"})
		for _, c := range clients("10.0.0.9", 5) {
			s.seg(c, dst, ack, 101).seg(c, dst, ack, 101, 1)
		}
		s.do(Step{Close: "m3"}).seg("10.0.0.9:9", dst, syn, 1).run(t)
	}
}

// TestFixedTCPHeaders: lengths and checksums, early demux or not.
func TestFixedTCPHeaders(t *testing.T) {
	needRoot(t)
	for _, e := range [][2]string{{"10.0.0.9:1", "10.0.0.1:80"}, {"[2001:db8::9]:1", "[2001:db8::1]:80"}} {
		for on := range 2 {
			s := fixed(fmt.Sprintf("%s early %d", e[1], on)).do(Step{Sysctl: &SetSysctl{0, "tcp_early_demux", on}}).open(tcp("l", e[1])).shake(e[0], e[1])
			src, dst := ap(e[0]), ap(e[1])
			base := func() *packettest.Builder {
				return ip(&s.Net, 0, src.Addr(), dst.Addr()).TCP(src.Port(), dst.Port(), ack).Seq(102, serverISN+1)
			}
			s.raw("bad sum", base().BadSum()).raw("bad sum, long", base().BadSum().PayloadLen(200)).
				raw("offset 4", base().Set(12, 0x40)).raw("offset beyond", base().Set(12, 0xf0)).raw("options", base().TCPOptions(1, 1, 1, 1).PayloadLen(3))
			s.raw("cut", ip(&s.Net, 0, src.Addr(), dst.Addr()).Proto(6).PayloadLen(12)).seg(e[0], e[1], ack, 105, 9).run(t)
		}
	}
}

// TestFixedBacklog: requests beyond the backlog are dropped.
func TestFixedBacklog(t *testing.T) {
	needRoot(t)
	for _, backlog := range []int{1, 3, 8} {
		l := tcp("l", "10.0.0.1:80")
		l.Backlog = backlog
		s := fixed(fmt.Sprintf("backlog %d", backlog)).open(l)
		for _, c := range clients("10.0.0.9", 12) {
			s.seg(c, "10.0.0.1:80", syn, 100)
		}
		for _, c := range clients("10.0.0.9", 3) {
			s.seg(c, "10.0.0.1:80", ack, 101)
		}
		for _, c := range clients("10.1.0.9", 5) {
			s.seg(c, "10.0.0.1:80", syn, 100)
		}
		s.run(t)
	}
	s := fixed("tcp_max_syn_backlog")
	s.Net.VRFs[0].Sysctl.TCPMaxSynBacklog = 16
	s.open(tcp("l", "10.0.0.1:80"))
	for _, c := range clients("10.0.0.9", 24) {
		s.seg(c, "10.0.0.1:80", syn, 100)
	}
	s.run(t)
}

// TestFixedICMP is section 10.1.
func TestFixedICMP(t *testing.T) {
	needRoot(t)
	for _, e := range [][3]string{{"10.0.0.9:1", "10.0.0.1:53", "192.0.2.7:0"}, {"[2001:db8::9]:1", "[2001:db8::1]:53", "[2001:db8:ffff::7]:0"}} {
		remote, local, router := ap(e[0]), ap(e[1]), ap(e[2])
		about := func(s *trialOf, what string, typ, code uint8, cut int, quoted func(*packettest.Builder) *packettest.Builder) {
			q := packettest.New()
			if local.Addr().Is4() {
				q = q.IPv4(local.Addr(), remote.Addr())
			} else {
				q = q.IPv6(local.Addr(), remote.Addr())
			}
			b := quoted(q).Bytes()
			s.raw(what, ip(&s.Net, 0, router.Addr(), local.Addr()).ICMP(typ, code, 0).Payload(b[:len(b)-cut]))
		}
		typ, codes := uint8(3), []uint8{0, 1, 2, 3, 9, 10, 13}
		if local.Addr().Is6() {
			typ, codes = 1, []uint8{0, 1, 3, 4, 5, 6}
		}
		udpQ := func(b *packettest.Builder) *packettest.Builder {
			return b.UDP(local.Port(), remote.Port()).Payload([]byte{0, 0, 0, 1, 5, 6, 7, 8})
		}
		tcpQ := func(b *packettest.Builder) *packettest.Builder {
			return b.TCP(local.Port(), remote.Port(), ack).Seq(serverISN+1, 102)
		}
		for _, code := range codes {
			s := fixed(fmt.Sprintf("%s code %d", e[1], code)).open(udp("u", e[1]))
			about(s, "about udp", typ, code, 0, udpQ)
			about(s, "about udp, cut", typ, code, 9, udpQ)
			s.open(tcp("l", e[1])).shake(e[0], e[1])
			about(s, "about tcp", typ, code, 0, tcpQ)
			s.run(t)
		}
		s := fixed("group " + e[1]).open(members(3, demux.UDP, "m", e[1])...).do(Step{Attach: &Attach{"m0", "ld [0]; ret a"}})
		about(s, "no program runs", typ, 1, 0, udpQ)
		s.do(Step{Connect: &Connect{Socket: "m1", To: remote}})
		about(s, "connected", typ, 1, 0, udpQ)
		about(s, "time exceeded", map[bool]uint8{true: 11, false: 3}[local.Addr().Is4()], 0, 0, udpQ)
		s.run(t)
		s = fixed("nobody " + e[1])
		about(s, "udp", typ, 1, 0, udpQ)
		about(s, "tcp", typ, 1, 0, tcpQ)
		s.open(tcp("l", e[1]))
		about(s, "tcp, only a listener", typ, 1, 0, tcpQ)
		s.run(t)
	}
}
