package dataplane

import (
	"net/netip"
	"testing"

	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/demux"
	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

// env is an engine with one port, one lcore and a clock, for tests that send
// one packet at a time.
type env struct {
	t     testing.TB
	b     *demux.Builder
	e     *Engine
	l     *Lcore
	burst *Burst
	now   int64
	num   uint64
}

// second is the unit of the tests' clocks.
const second = int64(1e9)

type envOptions struct {
	vrfs      []string // besides default; each has the interface NAME0 on port index 1, 2, ...
	exact     bool
	midstream bool
	sysctl    func(*demux.Sysctl)
	limits    flowtable.Limits
	local     []netip.Prefix
	routes    []demux.Route
	auto      *LocalAuto
	mac       uint64
	ring      *Ring
	verifyL4  bool
}

// newEnv opens ports, VRFs and tables; sockets are added with add.
func newEnv(t testing.TB, o envOptions) *env {
	t.Helper()
	v := &env{t: t, b: demux.NewBuilder(flowtable.Secret{1, 2, 3}), burst: NewBurst(), now: 1000 * second}
	var tables []*flowtable.Table
	ports := []Port{{Name: "p0", MAC: o.mac, Known: o.mac != 0}}
	_, err := v.b.AddIface(demux.IfaceSpec{Name: "p0", AnyVLAN: true})
	require.NoError(t, err)
	for i, name := range append([]string{"default"}, o.vrfs...) {
		vrf := uint16(0)
		if i > 0 {
			vrf, err = v.b.AddVRF(name)
			require.NoError(t, err)
			_, err = v.b.AddIface(demux.IfaceSpec{Name: name + "0", Port: uint16(i), VRF: vrf})
			require.NoError(t, err)
			ports = append(ports, Port{Name: name + "0"})
		}
		var s [2]*flowtable.Space
		for p := range s {
			tb, err := flowtable.New(flowtable.Config{Name: name, Buckets: 256, Max: 4096, Hasher: v.b.Hasher})
			require.NoError(t, err)
			o.limits.OnEvict = func(f flowtable.Flow) { v.e.Evicted(&f) }
			s[p], err = tb.Space(name, v.b.Hasher.Seed(name), o.limits)
			require.NoError(t, err)
			tables = append(tables, tb)
		}
		v.b.SetSpaces(vrf, s[0], s[1])
		sys := demux.DefaultSysctl()
		sys.TCPMidstream = o.midstream
		if o.sysctl != nil {
			o.sysctl(&sys)
		}
		v.b.SetSysctl(vrf, sys)
		if o.local != nil {
			v.b.SetLocal(vrf, o.local)
		}
		if o.routes != nil {
			require.NoError(t, v.b.SetRoutes(vrf, o.routes))
		}
	}
	v.b.SetMatchExact(o.exact)
	workers := []*Worker{NewWorker("w", 0, HandleCount), NewWorker("w", 1, HandleCount), NewWorker("w", 2, HandleTouch), NewWorker("w", 3, HandleCount)}
	workers[3].Ring = o.ring
	v.e, err = New(Config{
		Hasher: v.b.Hasher, Builder: v.b, Tables: tables, Ports: ports, Workers: workers,
		Parse: packet.Options{VerifyIP: true, VerifyL4: o.verifyL4}, LocalAuto: o.auto,
	})
	require.NoError(t, err)
	v.l = v.e.NewLcore()
	return v
}

// add opens a socket and publishes.
func (v *env) add(s demux.Spec) uint32 {
	v.t.Helper()
	if s.IncomingCPU == 0 {
		s.IncomingCPU = -1
	}
	id, err := v.b.Add(&s)
	require.NoError(v.t, err)
	v.publish()
	return id
}

func (v *env) publish() {
	v.t.Helper()
	require.NoError(v.t, v.e.Publish())
}

// send walks one frame on a port and returns its decision.
func (v *env) sendOn(port uint16, f packet.Frame) Decision {
	v.num++
	f.Port, f.Num, f.TS = port, v.num, v.now
	v.burst.N, v.burst.Frames[0] = 1, f
	v.l.Walk(v.burst, 0)
	return v.burst.Dec[0]
}

func (v *env) send(b *packettest.Builder) Decision { return v.sendOn(0, b.Frame()) }

// pass lets time go by.
func (v *env) pass(ns int64) { v.now += ns }

// conserved checks invariant 1 on the counters.
func (v *env) conserved() {
	v.t.Helper()
	c := v.e.Counters()
	var vrfs, ports, drops, dropped uint64
	for i := range c.VRFs {
		for _, n := range c.VRFs[i].Verdicts {
			vrfs += n
		}
		dropped += c.VRFs[i].Verdicts[1]
		for _, n := range c.VRFs[i].Drops {
			drops += n
		}
	}
	for _, p := range c.Ports {
		for _, n := range p {
			ports += n
		}
	}
	require.Equal(v.t, c.Frames, vrfs, "verdicts of VRFs")
	require.Equal(v.t, c.Frames, ports, "verdicts of ports")
	require.Equal(v.t, dropped, drops, "drops by reason")
}

var (
	clientMAC = packettest.MAC{2, 0, 0, 0, 0, 9}
	serverMAC = packettest.MAC{2, 0, 0, 0, 0, 1}
	client4   = netip.MustParseAddr("10.0.0.9")
	server4   = netip.MustParseAddr("10.0.0.1")
	client6   = netip.MustParseAddr("2001:db8::9")
	server6   = netip.MustParseAddr("2001:db8::1")
)

// ip starts a packet from the client to the server.
func ip(v6 bool) *packettest.Builder {
	b := packettest.New().Eth(clientMAC, serverMAC)
	if v6 {
		return b.IPv6(client6, server6)
	}
	return b.IPv4(client4, server4)
}

func addr4(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
