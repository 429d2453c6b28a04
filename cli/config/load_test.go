package config

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse("f.yaml", []byte(text))
	require.NoError(t, err)
	return c
}

// TestEmpty: an empty file, a comment and an empty mapping are the defaults.
func TestEmpty(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# nothing\n", "{}\n", "---\n", "\ufeff", "ports: []\n"} {
		c := mustParse(t, text)
		require.True(t, c.Checksums.IP)
		require.False(t, c.Checksums.L4)
		require.Equal(t, MatchDefault, c.Match)
		require.Nil(t, c.Secret)
		require.Equal(t, "/run/edemux/edemux.sock", c.Control.Socket)
		require.EqualValues(t, 0o600, c.Control.Mode)
		require.Equal(t, netip.MustParseAddrPort("127.0.0.1:9464"), c.Control.Metrics)
		require.EqualValues(t, 4<<20, c.Limits.FragBytes)
		require.Len(t, c.VRFs, 1)
		v := c.VRFs[0]
		require.Equal(t, "default", v.Name)
		require.True(t, v.EveryLocal)
		require.Equal(t, Ehash{TCP: 65536, UDP: 1024, Max: 1 << 24, Flows: 1 << 24}, *v.Ehash)
		s := v.Sysctl
		require.True(t, s.IPEarlyDemux && s.TCPEarlyDemux && s.UDPEarlyDemux)
		require.Equal(t, PortRange{32768, 60999}, s.LocalPortRange)
		require.Equal(t, 2, s.TCPTwReuse)
		require.Equal(t, 512, s.TCPMaxSynBacklog)
		require.Equal(t, 32768, s.TCPMaxTwBuckets)
	}
}

// TestDerived: limits follow the start size, as in Linux, unless given; a VRF
// that shares the tables of default counts with their size.
func TestDerived(t *testing.T) {
	c := mustParse(t, `
vrfs:
  - {name: red, ehash: {tcp: 1024}}
  - {name: default, ehash: {tcp: 131072}}
  - {name: blue}
  - {name: set, ehash: {tcp: 1024}, sysctl: {tcp_max_syn_backlog: 7, tcp_max_tw_buckets: 0}}
`)
	require.Equal(t, "default", c.VRFs[0].Name)
	got := map[string][2]int{}
	for _, v := range c.VRFs {
		got[v.Name] = [2]int{v.Sysctl.TCPMaxSynBacklog, v.Sysctl.TCPMaxTwBuckets}
	}
	require.Equal(t, map[string][2]int{"default": {1024, 65536}, "red": {128, 512}, "blue": {1024, 65536}, "set": {7, 0}}, got)
	require.Nil(t, c.VRF("blue").Ehash)
}

// TestTokenText: what YAML would read as another number is taken as written.
func TestTokenText(t *testing.T) {
	c := mustParse(t, `
secret: 00010203040506070809101112131415
control: {mode: 0640, metrics: ""}
ports:
  - {name: eth0, mac: 02:00:00:00:00:01, vlans: {10: a, 100.20: b, "100.2": c}}
  - {name: eth1, queues: 2, vlans: any, source: {pcap: sub/x.pcap, loop: 0, speed: 2.5x}}
vrfs:
  - {name: default, local: [10.0.0.1, 10.0.0.0/8, "::1"], sysctl: {ip_local_reserved_ports: 8080, ip_local_port_range: 2000 3000, tcp_idle_timeout: 90}}
`)
	require.Equal(t, byte(0x15), c.Secret[15])
	require.EqualValues(t, 0o640, c.Control.Mode)
	require.False(t, c.Control.Metrics.IsValid())
	p := c.Ports[0]
	require.Equal(t, "02:00:00:00:00:01", p.MAC.String())
	require.Equal(t, []uint16{100, 20}, p.VLANs.Sub[1].Stack)
	require.Equal(t, []uint16{100, 2}, p.VLANs.Sub[2].Stack)
	require.Equal(t, []int{0, 1}, c.Ports[1].CPUs)
	require.True(t, c.Ports[1].VLANs.Any)
	require.Equal(t, Speed{Kind: SpeedTimes, N: 2.5}, c.Ports[1].Source.Speed)
	require.Equal(t, 0, c.Ports[1].Source.Loop)
	v := c.VRFs[0]
	require.False(t, v.EveryLocal)
	require.Equal(t, netip.MustParsePrefix("10.0.0.1/32"), v.Local[0])
	require.Equal(t, []PortRange{{8080, 8080}}, v.Sysctl.ReservedPorts)
	require.Equal(t, PortRange{2000, 3000}, v.Sysctl.LocalPortRange)
	require.Equal(t, 90*time.Second, v.Sysctl.TCPIdleTimeout)
	a, ok := v.HostAddr(false)
	require.True(t, ok)
	require.Equal(t, netip.IPv6Loopback(), a)
}

// TestSockets: families follow the address, mapped ones are AF_INET6.
func TestSockets(t *testing.T) {
	c := mustParse(t, pools+`
sockets:
  - {name: four, proto: tcp, bind: 10.0.0.1:80, worker: web/3}
  - {name: six, proto: udp, bind: "[::]:80", workers: dns, steer: {asm: "ret #0"}}
  - {name: mapped, proto: udp, bind: "[::ffff:10.0.0.1]:80", connect: "[::ffff:10.0.0.2]:1", worker: dns/0}
  - {name: con, proto: udp, connect: "10.0.0.9:1", laddr: 10.0.0.1, worker: dns/0, reuseport: true, incoming_cpu: 3}
`)
	var fam []uint8
	for i := range c.Sockets {
		fam = append(fam, c.Sockets[i].Family())
	}
	require.Equal(t, []uint8{4, 6, 6, 4}, fam)
	require.True(t, c.Sockets[2].Bind.Addr().Is4In6())
	require.True(t, c.Sockets[1].InGroup())
	require.Equal(t, uint8(6), c.Sockets[0].Proto)
	require.Equal(t, uint8(17), c.Sockets[1].Proto)
	require.Equal(t, 4096, c.Sockets[0].Backlog)
	require.EqualValues(t, -1, c.Sockets[0].IncomingCPU)
	require.EqualValues(t, 3, c.Sockets[3].IncomingCPU)
}

// TestAllProblems: one run shows every mistake; misread values first, and no
// reference to what could not be read is called dangling.
func TestAllProblems(t *testing.T) {
	_, err := Parse("f.yaml", []byte(`workres:
  - name: web
sockets:
  - {name: s, proto: tpc, bind: "1.1.1.1:1", workers: web}
limits: {frag_bytes: x}
`))
	var e *Error
	require.True(t, errors.As(err, &e))
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	require.Equal(t, []string{
		"f.yaml:1:1: workres: unknown key of configuration: write workers",
		"f.yaml:4:22: tpc: not allowed here: write tcp",
		"f.yaml:5:22: x: not a number: write a number from 65536 to 68719476736",
	}, lines)
	require.Equal(t, "workres:\n^\n", e.Detail())
}

func TestDetail(t *testing.T) {
	_, err := Parse("f.yaml", []byte("script: é\nlimits: {frag_bytes: x}\r\n"))
	require.Equal(t, "limits: {frag_bytes: x}\n                     ^\n", err.(*Error).Detail())
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none.yaml")
	_, err := Load(missing)
	require.EqualError(t, err, "config: "+missing+": no such file or directory")
	require.Empty(t, err.(*Error).Detail())

	big := filepath.Join(dir, "big.yaml")
	require.NoError(t, os.WriteFile(big, bytes.Repeat([]byte("# x\n"), MaxSize/4+1), 0o600))
	_, err = Load(big)
	require.EqualError(t, err, "config: "+big+": configuration of more than 8388608 bytes: put many sockets into a flows file")

	ok := filepath.Join(dir, "ok.yaml")
	require.NoError(t, os.WriteFile(ok, []byte("script: e.txt\n"), 0o600))
	c, err := Load(ok)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "e.txt"), c.Path(c.Script))
	require.Equal(t, "/abs", c.Path("/abs"))
	require.Equal(t, "-", c.Path("-"))
	require.Empty(t, c.Path(""))
}

func TestWarnings(t *testing.T) {
	c := mustParse(t, pools+`  - {name: idle}
sockets:
  - {name: a, proto: tcp, bind: "10.0.0.1:80", worker: web/0}
  - {name: b, proto: tcp, bind: "10.0.0.1:81", workers: dns}
rules:
  - {proto: tcp, dst: 10.0.0.0/8, ports: 1-1000, socket: b}
  - {proto: tcp, dst: 10.0.0.0/24, ports: 80, socket: b}
`)
	var lines []string
	for _, p := range c.Warnings {
		lines = append(lines, p.String())
	}
	require.Equal(t, []string{
		"f.yaml:4:12: idle: no socket belongs to this pool: remove it or name it in worker or workers",
		"f.yaml:6:33: 10.0.0.1:80: unreachable: the rule in line 9 takes its packets: remove the socket or narrow the rule",
		"f.yaml:10:5: b: rule never matches: the one in line 9 comes first: move it before the other, or remove it",
	}, lines)
}

// TestLateErrors: Errorf places what shows only later.
func TestLateErrors(t *testing.T) {
	c := mustParse(t, pools+"sockets:\n  - {name: s, proto: udp, bind: \"10.0.0.1:53\", worker: dns/0}\n")
	err := c.Errorf(c.Sockets[0].At("bind"), "choose another port", "address already in use (socket %s)", "a")
	require.EqualError(t, err, "config: f.yaml:5:33: 10.0.0.1:53: address already in use (socket a): choose another port")
	require.True(t, strings.HasSuffix(err.(*Error).Detail(), strings.Repeat(" ", 32)+"^\n"))
}

// TestCompact: the same keys in flow style, as people write them by hand, over
// two lines and with remarks.
func TestCompact(t *testing.T) {
	c := mustParse(t, `
checksums: {ip: verify, l4: trust}   # a remark
ports: [{name: eth0, vlans: {10: eth0.10}}, {name: eth1}]
vrfs:
  - {name: red, interfaces: [eth0.10], routes: [{to: 0.0.0.0/0, via: eth1}],
     sysctl: {tcp_tw_reuse: 1,
              udp_early_demux: 0}}
workers: [{name: web, count: 4, handler: "port:eth1", lcores: [3, 4]}]
sockets:
  # order counts
  - {name: web443, proto: tcp, bind: "0.0.0.0:443", dev: red, workers: web, steer: {mode: cpu}}
rules:
  - {proto: tcp, vrf: red, dst: 192.0.2.0/24, ports: 80, socket: web443/3}
`)
	require.Equal(t, 1, c.VRF("red").Sysctl.TCPTwReuse)
	require.False(t, c.VRF("red").Sysctl.UDPEarlyDemux)
	require.Equal(t, "eth1", c.Pool("web").Handler.Port.Name)
	require.Equal(t, PortRange{80, 80}, c.Rules[0].Ports)
	require.Equal(t, Pos{Line: 7, Col: 32, Text: "0"}, c.VRF("red").Sysctl.At("udp_early_demux"))
	require.Empty(t, c.Warnings)
	require.Nil(t, c.Pool("none"))
	require.Nil(t, c.VRF("none"))
}
