package daemon

import (
	"fmt"
	"strings"
	"testing"

	"edemux/cli/control"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tenants is a configuration with two VRFs on tags of one port.
const tenants = `
ports:
  - {name: eth0, source: {pcap: in.pcap, loop: 0, speed: 50000pps}, vlans: {10: eth0.10, 20: eth0.20}}
vrfs:
  - {name: default, sysctl: {tcp_midstream: 1}}
  - {name: red, interfaces: [eth0.10], ehash: {tcp: 256, udp: 256, max: 4096}}
workers:
  - {name: web, count: 2}
sockets:
  - {name: a, proto: udp, bind: "0.0.0.0:9000", reuseaddr: true, worker: web/0}
  - {name: ra, proto: udp, bind: "0.0.0.0:9000", dev: red, reuseaddr: true, worker: web/1}
  - {name: t, proto: tcp, bind: "0.0.0.0:443", workers: web}
rules:
  - {proto: tcp, dst: 10.0.0.9/32, ports: 1-100, socket: t}
`

// tenantFrames go untagged, with tag 10 and with tag 20, and are TCP flows.
func tenantFrames() (all []*packettest.Builder) {
	tagged := func(vid uint16, sport int) *packettest.Builder {
		return packettest.New().Eth(packettest.MAC{2, 0, 0, 0, 0, 9}, packettest.MAC{2, 0, 0, 0, 0, 1}).VLAN(vid).
			IPv4(client, server).UDP(uint16(sport), 9000)
	}
	for i := range 50 {
		all = append(all, udp(1024+i, 9000), tagged(10, i+1), tagged(20, i+1), tcp(2000+i, 443, packet.ACK))
	}
	return all
}

// reload writes the file and applies it.
func (r *running) reload(yaml string) (*control.Reloaded, error) {
	r.t.Helper()
	r.write(yaml)
	return r.Reload(ctx(r.t))
}

// TestReloadUnderLoad changes everything that can change while frames come:
// TCP flows stay, nothing is lost, and the answer says what was done.
func TestReloadUnderLoad(t *testing.T) {
	r := start(t, tenants, tenantFrames())
	r.frames(2000)
	same, err := r.reload(tenants + "# a comment more\n")
	require.NoError(t, err)
	assert.True(t, same.Unchanged)
	flows, err := r.Flows(ctx(t), control.FlowQuery{Filter: "tcp"})
	require.NoError(t, err)
	require.Len(t, flows.Flows, 50)

	next := strings.NewReplacer(
		"20: eth0.20", "20: eth0.20, 30: eth0.30",
		"sysctl: {tcp_midstream: 1}", "sysctl: {tcp_midstream: 1, udp_early_demux: 0}, local: [10.0.0.0/24]",
		"workers:\n", "  - {name: blue, interfaces: [eth0.20], local: [10.0.0.0/24], routes: [{to: 0.0.0.0/0, via: eth0}]}\nworkers:\n  - {name: extra, count: 3}\n",
		"worker: web/0}", "worker: extra/2}",
		"rules:", "  - {name: ba, proto: udp, bind: \"0.0.0.0:9000\", dev: blue, reuseaddr: true, worker: extra/0}\nrules:",
		"ports: 1-100", "ports: 1-200",
	).Replace(tenants)
	done, err := r.reload(next)
	require.NoError(t, err)
	did := strings.Join(done.Did, "\n")
	for _, want := range []string{
		"interface eth0.30: new, in VRF default", "interface eth0.20: changed, in VRF blue", "vrf blue: new",
		"vrf default: sysctls", "vrf default: addresses and routes", "worker pool extra: 3 workers",
		"sockets opened: ba", "sockets opened anew: a", "rules: 1",
	} {
		assert.Contains(t, did, want)
	}
	r.epoch(done.Epoch)
	a := r.frames(0)
	b := r.frames(a.Totals.Frames + 4000)
	assert.Equal(t, a.Totals.Verdicts.Drop, b.Totals.Verdicts.Drop, "nothing is lost")
	assert.Greater(t, workerPackets(b, "extra/0"), workerPackets(a, "extra/0"))
	assert.Greater(t, workerPackets(b, "extra/2"), workerPackets(a, "extra/2"))
	kept, err := r.Flows(ctx(t), control.FlowQuery{Filter: "tcp"})
	require.NoError(t, err)
	assert.Equal(t, flows.Flows, kept.Flows, "every flow and its worker")
	sw, err := r.EarlyDemux(ctx(t), "default")
	require.NoError(t, err)
	assert.False(t, sw.VRFs[0].UDP)
	conserved(t, b)

	back, err := r.reload(strings.Replace(strings.Replace(next, "routes: [{to: 0.0.0.0/0, via: eth0}]", "broadcast: [10.0.0.255]", 1), "  - {name: red, interfaces: [eth0.10], ehash: {tcp: 256, udp: 256, max: 4096}}\n", "", 1))
	require.ErrorContains(t, err, "", "ra is bound to red") // the file is wrong: nothing happens
	assert.Nil(t, back)
	gone := strings.Replace(next, "  - {name: red, interfaces: [eth0.10], ehash: {tcp: 256, udp: 256, max: 4096}}\n", "", 1)
	gone = strings.Replace(gone, "  - {name: ra, proto: udp, bind: \"0.0.0.0:9000\", dev: red, reuseaddr: true, worker: web/1}\n", "", 1)
	done, err = r.reload(gone)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(done.Did, "\n"), "vrf red: gone, with its flows")
	vrfs, err := r.VRFs(ctx(t), "")
	require.NoError(t, err)
	var names []string
	for _, v := range vrfs.VRFs {
		names = append(names, v.Name)
	}
	assert.Equal(t, []string{"default", "blue", "-"}, names)
	end := r.frames(b.Totals.Frames + 4000)
	conserved(t, end)
	r.scrape(end.Snapshot)
	done, err = r.reload(next) // and back again, under a new index
	require.NoError(t, err)
	r.epoch(done.Epoch)
	a = r.frames(0)
	b = r.frames(a.Totals.Frames + 4000)
	assert.Equal(t, a.Totals.Verdicts.Drop, b.Totals.Verdicts.Drop)
	conserved(t, b)
}

func workerPackets(s *control.Snapshot, name string) uint64 {
	for _, w := range s.Workers {
		if w.Name == name {
			return w.Packets
		}
	}
	return 0
}

// TestReloadRefuses: a wrong file, and what would need a restart, change
// nothing and are named.
func TestReloadRefuses(t *testing.T) {
	r := start(t, tenants, tenantFrames())
	before, err := r.Sockets(ctx(t), control.SocketQuery{})
	require.NoError(t, err)
	for _, x := range []struct{ old, new, code, want string }{
		{"reuseaddr: true, worker: web/0", "reuseaddr: true, worker: web/9", control.CodeConfig, "c.yaml:"},
		{"name: a, proto", "name: a, porto", control.CodeConfig, "porto"},
		{"dev: red, reuseaddr: true,", "", control.CodeConfig, "address already in use"},
		{"ports:", "lcores: [0]\nports:", control.CodeRestart, "lcores"},
		{"ports:", "limits: {frag_bytes: 100000}\nports:", control.CodeRestart, "limits"},
		{"ports:", "secret: 000102030405060708090a0b0c0d0e0f\nports:", control.CodeRestart, "secret"},
		{"ports:", "checksums: {l4: verify}\nports:", control.CodeRestart, "checksums"},
		{"speed: 50000pps", "speed: 60000pps", control.CodeRestart, "source of port eth0"},
		{"name: eth0, source", "name: eth0, queues: 2, source", control.CodeRestart, "queues of port eth0"},
		{"workers:", "  - {name: blue}\nworkers:", "", ""},
		{"count: 2}", "count: 3}", control.CodeRestart, "worker pool web"},
		{"udp: 256", "udp: 512", control.CodeRestart, "ehash of vrf red"},
		{"vrfs:", "  - {name: eth1, source: {pcap: in.pcap}}\nvrfs:", control.CodeRestart, "port eth1 is new"},
	} {
		_, err := r.reload(strings.Replace(tenants, x.old, x.new, 1))
		if x.code == "" {
			require.NoError(t, err)
			_, err = r.reload(tenants)
			require.NoError(t, err)
			continue
		}
		require.Error(t, err, x.want)
		assert.Equal(t, x.code, code(t, err), err.Error())
		assert.Contains(t, err.Error(), x.want)
	}
	after, err := r.Sockets(ctx(t), control.SocketQuery{})
	require.NoError(t, err)
	assert.Equal(t, before.Sockets, after.Sockets)
}

// TestReloadTakesCommandsBack: what commands changed goes back to the file.
func TestReloadTakesCommandsBack(t *testing.T) {
	r := start(t, tenants, tenantFrames())
	c := ctx(t)
	_, err := r.Bind(c, `{name: late, proto: udp, bind: "0.0.0.0:7", worker: web/0}`)
	require.NoError(t, err)
	_, err = r.CloseSocket(c, "t/1")
	require.NoError(t, err)
	_, err = r.CloseSocket(c, "a")
	require.NoError(t, err)
	_, err = r.Bind(c, `{name: b, proto: udp, bind: "10.0.0.1:9001", worker: web/0}`)
	require.NoError(t, err)
	_, err = r.SetSysctl(c, control.SetSysctl{Name: "udp_early_demux", Value: "0", VRF: "red"})
	require.NoError(t, err)
	done, err := r.reload(strings.Replace(tenants, "  - {name: ra,", "  - {name: b, proto: udp, bind: \"10.0.0.1:9001\", worker: web/0}\n  - {name: ra,", 1))
	require.NoError(t, err)
	did := strings.Join(done.Did, "\n")
	assert.Contains(t, did, "vrf red: sysctls")
	assert.Contains(t, did, "sockets closed: late")
	assert.Contains(t, did, "sockets opened: a")
	assert.Contains(t, did, "sockets opened anew: t")
	s, err := r.Sockets(c, control.SocketQuery{})
	require.NoError(t, err)
	var names []string
	for _, x := range s.Sockets {
		names = append(names, x.Name)
	}
	assert.ElementsMatch(t, []string{"a", "ra", "t/0", "t/1", "b"}, names)
	conf, err := r.Config(c)
	require.NoError(t, err)
	assert.Empty(t, conf.Changes)
}

// TestReloadSteering: programs of groups come, change and go.
func TestReloadSteering(t *testing.T) {
	yaml := func(steer string) string {
		return strings.Replace(base, "bind: \"0.0.0.0:9000\", workers: web", "bind: \"0.0.0.0:9000\", workers: web"+steer, 1)
	}
	r := start(t, strings.Replace(yaml(""), "loop: 0", "loop: 0, speed: 50000pps", 1), mixed(50))
	for _, x := range []struct{ steer, by string }{
		{`, steer: {asm: "ldi #1; ret a"}`, "program"}, {`, steer: {asm: "ldi #2; ret a"}`, "program"},
		{"", "hash"}, {", steer: {mode: cpu}", "cpu"}, {"", "hash"},
	} {
		done, err := r.reload(strings.Replace(yaml(x.steer), "loop: 0", "loop: 0, speed: 50000pps", 1))
		require.NoError(t, err)
		assert.Equal(t, []string{"socket web: steering"}, done.Did)
		r.epoch(done.Epoch)
		a, err := r.Groups(ctx(t), "web")
		require.NoError(t, err)
		r.frames(r.frames(0).Totals.Frames + 1000)
		b, err := r.Groups(ctx(t), "web")
		require.NoError(t, err)
		for by, n := range b.Groups[0].By {
			if by == x.by {
				assert.Greater(t, n, a.Groups[0].By[by], x.steer)
			} else {
				assert.Equal(t, n, a.Groups[0].By[by], "%s: %s", x.steer, by)
			}
		}
	}
}

// TestReloadManyFlows: 100,000 TCP flows stay through reloads under load.
func TestReloadManyFlows(t *testing.T) {
	const n = 100_000
	if testing.Short() {
		t.Skip("100,000 flows")
	}
	var frames []*packettest.Builder
	for i := range n {
		frames = append(frames, tcp(i, 443, packet.ACK))
	}
	yaml := strings.Replace(tenants, "speed: 50000pps", "speed: max", 1)
	r := start(t, yaml, frames)
	r.frames(2 * n)
	for i := range 5 {
		done, err := r.reload(yaml + fmt.Sprintf("  - {proto: udp, dst: 10.0.0.%d/32, ports: 1-100, socket: a}\n", i))
		require.NoError(t, err)
		assert.NotEmpty(t, done.Did)
		_, err = r.reload(yaml + "rules: []\n")
		require.Error(t, err)
	}
	s := r.frames(r.frames(0).Totals.Frames + n)
	assert.Zero(t, s.Totals.Verdicts.Drop)
	assert.EqualValues(t, n, s.VRFs[0].TCP.Flows)
	var created uint64
	for _, l := range s.Lcores {
		created += l.Created
	}
	assert.EqualValues(t, n, created, "no flow was made twice")
}
