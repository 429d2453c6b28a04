package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"edemux/demux"
	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

func build(t *testing.T, c *Config) (*demux.Builder, *demux.View) {
	t.Helper()
	b := demux.NewBuilder(flowtable.Secret{1})
	require.NoError(t, Build(c, b))
	return b, b.Publish()
}

// query is a packet from src to dst in the VRF of an interface, nil for none.
func query(b *demux.Builder, proto uint8, ifc *demux.Iface, src, dst string) *demux.Query {
	s, d := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	q := &demux.Query{Hasher: b.Hasher, Proto: proto, CPU: -1, V6: s.Addr().Is6(),
		Saddr: flowtable.AddrFrom(s.Addr()), Daddr: flowtable.AddrFrom(d.Addr()), Sport: s.Port(), Dport: d.Port()}
	if ifc != nil {
		q.VRF, q.Dif, q.Sdif = ifc.VRF, ifc.Dif, ifc.Sdif
	}
	return q
}

func lookup(b *demux.Builder, v *demux.View, proto uint8, ifc *demux.Iface, src, dst string) demux.Result {
	q := query(b, proto, ifc, src, dst)
	if proto == demux.TCP {
		return v.TCPListener(q)
	}
	return v.UDPLookup(q)
}

// TestDefaultDelivers: without -c every TCP and UDP packet finds a worker, and
// the flows spread over all of them.
func TestDefaultDelivers(t *testing.T) {
	b, v := build(t, Default())
	for _, proto := range []uint8{demux.TCP, demux.UDP} {
		workers := map[uint32]int{}
		for _, dst := range []string{"10.0.0.1:80", "10.0.0.1:0", "255.255.255.255:65535", "[2001:db8::1]:443", "[::1]:1", "[fe80::1]:65535"} {
			src := "10.0.0.9:"
			if dst[0] == '[' {
				src = "[2001:db8::9]:"
			}
			for _, sport := range []string{"1", "2", "40000", "40001", "65535", "0", "53", "5353"} {
				r := lookup(b, v, proto, nil, src+sport, dst)
				require.Equal(t, demux.PathRule, r.Path, "%s", dst)
				require.True(t, v.Sock(r.Sock).Alive())
				workers[v.Sock(r.Sock).Worker]++
			}
		}
		require.Len(t, workers, 4)
	}
	require.Equal(t, []string{"w/0", "w/1", "w/2", "w/3"}, Default().WorkerNames())
	require.True(t, b.Sysctl(0).TCPMidstream)
}

// TestExampleBuilds: what the example describes is there under its names.
func TestExampleBuilds(t *testing.T) {
	c := mustParse(t, Example())
	b, v := build(t, c)
	red := v.Ingress(0, 10, 1)
	require.Equal(t, "eth0.10", red.Name)
	require.Equal(t, "red", v.VRFs[red.VRF].Name)
	require.Equal(t, "eth0.100.20", v.Ingress(0, 20<<16|100, 2).Name)
	require.Nil(t, v.Ingress(0, 11, 1))
	require.Equal(t, "eth1", v.Ingress(1, 77, 1).Name)

	r := lookup(b, v, demux.TCP, red, "10.0.0.9:1", "192.0.2.7:9")
	require.Equal(t, demux.PathRule, r.Path)
	require.True(t, strings.HasPrefix(v.Name(r.Sock), "web443/"))
	require.Equal(t, "web443", v.GroupName(int(r.Group-1)))
	require.Equal(t, demux.PathListener, lookup(b, v, demux.TCP, red, "10.0.0.9:1", "10.0.0.1:443").Path)
	require.Zero(t, lookup(b, v, demux.TCP, v.Ingress(0, 0, 0), "10.0.0.9:1", "10.0.0.1:443").Sock)
	conn := lookup(b, v, demux.UDP, v.Ingress(0, 0, 0), "10.0.0.9:9000", "10.0.0.1:7000")
	require.Equal(t, "a", v.Name(conn.Sock))
	require.Equal(t, demux.PathEstablished, conn.Path)
	require.Equal(t, "web/2", c.WorkerNames()[v.Sock(conn.Sock).Worker])
	out := v.Sock(b.Lookup("out"))
	require.Equal(t, flowtable.V4(10<<24|1), out.Laddr)
	require.GreaterOrEqual(t, out.Lport, uint16(32768))
	require.EqualValues(t, 0, v.Sock(b.Lookup("b")).IncomingCPU, "steer mode cpu numbers the members")
	require.True(t, v.HasPrograms)
	sys := b.Sysctl(red.VRF)
	require.True(t, sys.ReservedPort(8080) && sys.ReservedPort(9010) && !sys.ReservedPort(9011))
}

// TestRefused: what Linux would refuse is an error at the value.
func TestRefused(t *testing.T) {
	for _, m := range []struct{ name, sockets, want string }{
		{"in use", `
  - {name: a, proto: udp, bind: "10.0.0.1:53", worker: dns/0}
  - {name: b, proto: udp, bind: "0.0.0.0:53", worker: dns/0}`,
			"7:33: 0.0.0.0:53: socket b: bind udp 0.0.0.0:53: address already in use (socket a, line 6): choose another address or port, or give both reuseport: true, the same address and the same uid"},
		{"uid differs", `
  - {name: a, proto: tcp, bind: "[::]:80", workers: dns, uid: 1}
  - {name: b, proto: tcp, bind: "[::]:80", workers: web, uid: 2}`,
			"7:33: [::]:80: socket b/0: bind tcp [::]:80: address already in use (socket a/0, line 6): choose another address or port, or give both reuseport: true, the same address and the same uid"},
		{"not local", `
  - {name: a, proto: tcp, bind: "10.9.0.1:80", dev: red, worker: web/0}`,
			"6:33: 10.9.0.1:80: socket a: bind tcp 10.9.0.1:80: cannot assign requested address (not local in red): list the address in local of its VRF, name the VRF in dev, or choose another address"},
		{"two steers of one group", `
  - {name: a, proto: udp, bind: "10.0.0.1:80", worker: web/0, reuseport: true, steer: {mode: hash}}
  - {name: b, proto: udp, bind: "10.0.0.1:80", worker: web/1, reuseport: true, steer: {mode: cpu}}`,
			"7:87: {: the group of b is already steered in line 6: keep one"},
		{"steer on a connected one", `
  - {name: a, proto: udp, bind: "10.0.0.1:80", connect: "10.0.0.2:1", worker: web/0, reuseport: true, steer: {mode: hash}}`,
			"6:110: {: socket a has no group: remove it, or do not connect the socket"},
		{"no program file", `
  - {name: a, proto: udp, bind: "10.0.0.1:80", workers: dns, steer: {cbpf: none.bpf}}`,
			"6:76: none.bpf: no such file or directory: name a file that can be read"},
	} {
		t.Run(m.name, func(t *testing.T) {
			c := mustParse(t, "vrfs: [{name: red, local: [10.0.0.0/24]}]\n"+pools+"sockets:"+m.sockets+"\n")
			err := Build(c, demux.NewBuilder(flowtable.Secret{}))
			require.Error(t, err)
			require.Equal(t, "config: f.yaml:"+m.want, err.Error())
			require.NotEmpty(t, err.(*Error).Detail())
		})
	}
}

// TestBadProgram: the instruction is named.
func TestBadProgram(t *testing.T) {
	c := mustParse(t, pools+"sockets:\n  - {name: a, proto: udp, bind: \"10.0.0.1:80\", workers: dns, steer: {asm: \"ldx [0]; rte a\"}}\n")
	err := Build(c, demux.NewBuilder(flowtable.Secret{}))
	require.ErrorContains(t, err, "config: f.yaml:5:75: ldx [0]; rte a: program: ")
}

// TestFlowsAndProgramFiles: file names are relative to the configuration.
func TestFlowsAndProgramFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("flows.tsv", "10.0.0.1\t53\t10.0.0.9\t4000\tdns/1\n2001:db8::1\t53\t2001:db8::9\t4000\tweb/3\n10.0.0.1\t53\t10.0.0.9\t4000\tweb/0\tred\n")
	write("p.bpf", "ret #1\n")
	write("c.yaml", "ports: [{name: eth0, vlans: {5: eth0.5}}]\nvrfs: [{name: red, interfaces: [eth0.5]}]\n"+pools+
		"flows: {udp: flows.tsv}\nsockets:\n  - {name: d, proto: udp, bind: \"10.0.0.1:5353\", workers: dns, steer: {cbpf: p.bpf}}\n")
	c, err := Load(filepath.Join(dir, "c.yaml"))
	require.NoError(t, err)
	b, v := build(t, c)
	eth0, red := v.Ingress(0, 0, 0), v.Ingress(0, 5, 1)
	names := c.WorkerNames()
	for _, m := range []struct {
		ifc              *demux.Iface
		src, dst, worker string
	}{
		{eth0, "10.0.0.9:4000", "10.0.0.1:53", "dns/1"},
		{eth0, "[2001:db8::9]:4000", "[2001:db8::1]:53", "web/3"},
		{red, "10.0.0.9:4000", "10.0.0.1:53", "web/0"},
	} {
		r := lookup(b, v, demux.UDP, m.ifc, m.src, m.dst)
		require.Equal(t, demux.PathEstablished, r.Path, m.dst)
		require.Equal(t, m.worker, names[v.Sock(r.Sock).Worker])
	}
	require.True(t, v.HasPrograms)

	write("flows.tsv", "10.0.0.1\t53\t10.0.0.9\t4000\tdns/7\n")
	err = Build(c, demux.NewBuilder(flowtable.Secret{}))
	require.EqualError(t, err, "config: flows.tsv:1:1: dns/7: pool dns has 2 workers: write dns/0 to dns/1")
}

// TestEmptyBuilds: no socket, no rule, one VRF.
func TestEmptyBuilds(t *testing.T) {
	_, v := build(t, mustParse(t, ""))
	require.Len(t, v.VRFs, 1)
	require.Zero(t, v.Groups())
}
