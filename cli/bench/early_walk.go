package bench

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"edemux/dataplane"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// earlyWalk is one engine with a table of one family and footprint.
type earlyWalk struct {
	family, footprint string
	b                 *demux.Builder
	e                 *dataplane.Engine
	l                 *dataplane.Lcore
	burst             *dataplane.Burst
	tables            []*flowtable.Table
	ifindex           uint32
	flows             []flowtable.Key // UDP and TCP alike
	routes            []netip.Prefix
	now               int64
	seed              uint64
}

// openPort is that of the unconnected socket and of the listener.
const openPort = 7000

// newEarlyWalk opens the sockets and fills the tables. The connected sockets
// have local addresses of their own, one chain each; the flows beyond them only
// make the tables as large as the footprint asks.
func newEarlyWalk(o *Early, family, footprint string) (w *earlyWalk, err error) {
	w = &earlyWalk{family: family, footprint: footprint, b: demux.NewBuilder(secretOf(o.Seed)), burst: dataplane.NewBurst(), seed: o.Seed}
	if w.ifindex, err = w.b.AddIface(demux.IfaceSpec{Name: "mem0", AnyVLAN: true}); err != nil {
		return nil, err
	}
	w.b.SetMatchExact(true)
	w.b.SetLocal(0, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/64")})
	total := max(o.Sockets, earlyFlows[footprint][0])
	if w.tables, err = emptySpaces(w.b, tableSize(total*8/3), uint64(total)); err != nil {
		return nil, err
	}
	if err = w.sockets(o.Sockets, total); err == nil {
		w.e, err = dataplane.New(dataplane.Config{
			Hasher: w.b.Hasher, Builder: w.b, Tables: w.tables, Ports: []dataplane.Port{{Name: "mem0"}},
			Workers: []*dataplane.Worker{dataplane.NewWorker("w", 0, dataplane.HandleCount)},
			Parse:   packet.Options{VerifyIP: true}, LookAhead: true,
		})
	}
	if err == nil {
		err = w.fill(o.Sockets)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	w.l = w.e.NewLcore()
	return w, nil
}

func (w *earlyWalk) close() {
	if w == nil {
		return
	}
	for _, t := range w.tables {
		t.Close()
	}
	w.tables = nil
}

// sockets opens a listener (socket 1), an unconnected socket (2) and the
// connected ones.
func (w *earlyWalk) sockets(n, total int) error {
	any := netip.IPv4Unspecified()
	if w.family == "v6" {
		any = netip.IPv6Unspecified()
	}
	for i, proto := range []uint8{demux.TCP, demux.UDP} {
		sp := &demux.Spec{Name: fmt.Sprintf("open%d", i), Proto: proto, Listen: proto == demux.TCP, IncomingCPU: -1, Bind: netip.AddrPortFrom(any, openPort)}
		if _, err := w.b.Add(sp); err != nil {
			return err
		}
	}
	w.flows = make([]flowtable.Key, total)
	for i := range w.flows {
		k := keyAt(uint32(i), w.family == "v6")
		k.Laddr, k.Lport = w.local(i), 9000
		w.flows[i] = k
	}
	specs := make([]demux.FlowSpec, n)
	for i := range specs {
		specs[i].Key = w.flows[i]
	}
	_, err := w.b.AddFlows("flow", specs)
	return err
}

// local is the local address of flow i.
func (w *earlyWalk) local(i int) flowtable.Addr {
	if w.family == "v6" {
		return flowtable.Addr{Hi: 0x20010db8 << 32, Lo: uint64(i) + 1}
	}
	return flowtable.V4(10<<24 + uint32(i) + 1)
}

// fill adds the TCP flows, which are the listener's children, and the UDP flows
// beyond the connected sockets.
func (w *earlyWalk) fill(sockets int) error {
	v := &w.e.View().VRFs[0]
	for i := range w.flows {
		k := &w.flows[i]
		h := w.b.Hasher.Sum(v.Seed, k.Laddr, k.Faddr, k.Fport).Hash(k.Lport)
		if _, err := v.TCP.Insert(h, k, flowtable.Flow{Sock: 1, Next: 1}, 0); err != nil {
			return err
		}
		if i >= sockets {
			if _, err := v.UDP.Insert(h, k, flowtable.Flow{Sock: 2}, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// setRoutes replaces the routes: one for everything, or distinct prefixes.
func (w *earlyWalk) setRoutes(n int) error {
	if len(w.routes) == n {
		return nil
	}
	w.routes = w.routes[:0]
	for i := range n {
		x := scatter(uint32(i))
		p := netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(16 + i%64), byte(i >> 6), byte(i >> 14), byte(x & 0xf0)}), 28)
		if w.family == "v6" {
			b := [16]byte{0x24, 0, byte(i), byte(i >> 8), byte(i >> 16), byte(x)}
			p = netip.PrefixFrom(netip.AddrFrom16(b), 48)
		}
		w.routes = append(w.routes, p)
	}
	routes := make([]demux.Route, n)
	for i, p := range w.routes {
		routes[i] = demux.Route{To: p, Via: w.ifindex}
	}
	if err := w.b.SetRoutes(0, routes); err != nil {
		return err
	}
	return w.e.Publish()
}

// toggle sets the switch of a protocol and lets the lcore see it.
func (w *earlyWalk) toggle(proto string, on bool, v dataplane.Variant) {
	s := w.b.Sysctl(0)
	s.TCPEarlyDemux, s.UDPEarlyDemux = on || proto != "tcp", on || proto != "udp"
	if s == w.b.Sysctl(0) {
		return
	}
	w.b.SetSysctl(0, s)
	if err := w.e.Publish(); err != nil {
		panic("bench earlydemux: " + err.Error())
	}
	w.burst.N = 0
	w.walk(v)
}

func (w *earlyWalk) walk(v dataplane.Variant) {
	w.now++
	if v == 0 {
		w.l.Walk(w.burst, w.now)
	} else {
		w.l.WalkVariant(w.burst, w.now, v)
	}
}

// run walks about n packets.
func (w *earlyWalk) run(src *memorySource, n int, v dataplane.Variant) (done int) {
	for done < n {
		src.fill(w.burst)
		w.walk(v)
		done += w.burst.N
	}
	return done
}

// frames are the packets of a case, shuffled.
func (w *earlyWalk) frames(c earlyCase) []packet.Frame {
	r := rand.New(rand.NewPCG(w.seed, 10))
	n := min(earlyFlows[c.footprint][1], len(w.flows))
	size := 60
	if c.family == "v6" {
		size = 74
	}
	mem := make([]byte, n*size)
	out := make([][]byte, n)
	order := r.Perm(n)
	for i := range out {
		j := order[i]
		if c.sources == "one" {
			j = 0
		}
		k := w.flows[j]
		switch c.traffic {
		case "unconnected":
			fresh := keyAt(firstMiss+uint32(j), c.family == "v6")
			k.Laddr, k.Lport, k.Faddr, k.Fport = w.local(0), openPort, fresh.Faddr, fresh.Fport
		case "forward":
			p := w.routes[r.IntN(len(w.routes))]
			if c.sources == "one" {
				p = w.routes[0]
			}
			k.Laddr = flowtable.AddrFrom(p.Addr())
		}
		out[i] = mem[i*size : (i+1)*size : (i+1)*size]
		writeFrame(out[i], &k, c.proto == "tcp")
	}
	return framesOf(out)
}

// writeFrame makes a packet to the socket of k: Ethernet, IP with its checksum,
// UDP (the checksum is not looked at) or a bare TCP ACK.
func writeFrame(d []byte, k *flowtable.Key, tcp bool) {
	be := binary.BigEndian
	copy(d, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2})
	proto := byte(demux.UDP)
	if tcp {
		proto = demux.TCP
	}
	ip := d[14:]
	var l4 []byte
	if k.Is4() {
		be.PutUint16(d[12:], 0x0800)
		l4 = ip[20:]
		be.PutUint16(ip[2:], uint16(len(ip)))
		ip[0], ip[8], ip[9] = 0x45, 64, proto
		be.PutUint32(ip[12:], k.Faddr.As4())
		be.PutUint32(ip[16:], k.Laddr.As4())
		sum := uint32(0)
		for i := 0; i < 20; i += 2 {
			sum += uint32(be.Uint16(ip[i:]))
		}
		sum = sum>>16 + sum&0xffff
		be.PutUint16(ip[10:], ^uint16(sum>>16+sum))
	} else {
		be.PutUint16(d[12:], 0x86dd)
		l4 = ip[40:]
		be.PutUint16(ip[4:], uint16(len(l4)))
		ip[0], ip[6], ip[7] = 0x60, proto, 64
		be.PutUint64(ip[8:], k.Faddr.Hi)
		be.PutUint64(ip[16:], k.Faddr.Lo)
		be.PutUint64(ip[24:], k.Laddr.Hi)
		be.PutUint64(ip[32:], k.Laddr.Lo)
	}
	be.PutUint16(l4, k.Fport)
	be.PutUint16(l4[2:], k.Lport)
	if tcp {
		be.PutUint32(l4[4:], 1)
		l4[12], l4[13] = 5<<4, 0x10
		return
	}
	be.PutUint16(l4[4:], uint16(len(l4)))
	be.PutUint16(l4[6:], 0xffff)
}
