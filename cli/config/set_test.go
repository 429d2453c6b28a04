package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSet(t *testing.T) {
	c := mustParse(t, "vrfs: [{name: red}, {name: blue}]\n")
	demux := func() (out []bool) {
		for i := range c.VRFs {
			out = append(out, c.VRFs[i].Sysctl.UDPEarlyDemux)
		}
		return out
	}
	require.NoError(t, c.Set("red:udp_early_demux=0"))
	require.Equal(t, []bool{true, false, true}, demux())
	require.NoError(t, c.Set("udp_early_demux=0"))
	require.Equal(t, []bool{false, false, false}, demux())
	require.NoError(t, c.Set("default:net.ipv4.udp_early_demux = 1"))
	require.Equal(t, []bool{true, false, false}, demux())
	require.NoError(t, c.Set("blue:ip_local_port_range=2000 3000"))
	require.Equal(t, PortRange{2000, 3000}, c.VRF("blue").Sysctl.LocalPortRange)
	require.NoError(t, c.Set("ip_local_reserved_ports=8080,9000-9010"))
	require.Len(t, c.VRF("red").Sysctl.ReservedPorts, 2)
	require.NoError(t, c.Set("ip_local_reserved_ports="))
	require.Empty(t, c.VRF("red").Sysctl.ReservedPorts)
	require.NoError(t, c.Set("tcp_max_tw_buckets=5"))
	require.Equal(t, 5, c.VRF("red").Sysctl.TCPMaxTwBuckets)
	require.NoError(t, c.Set("early_demux_match=exact"))
	require.Equal(t, MatchExact, c.Match)
	require.NoError(t, c.Set("tcp_l3mdev_accept=1"))
	require.True(t, c.Sysctl.TCPL3mdevAccept)
}

func TestSetMistakes(t *testing.T) {
	c := Default()
	for _, m := range []struct{ arg, want string }{
		{"udp_early_demux", "no value: write [VRF:]NAME=VALUE"},
		{"udp_early_demx=0", "no such sysctl: write udp_early_demux"},
		{"red:udp_early_demux=0", "no VRF red: write one of default"},
		{"udp_early_demux=2", "not allowed here: write 0 or 1"},
		{"udp_early_demux=on", "a switch is 0 or 1: write 1"},
		{"red:early_demux_match=exact", "early_demux_match is not per VRF: write early_demux_match=exact"},
		{"default:udp_l3mdev_accept=1", "udp_l3mdev_accept is not per VRF: write udp_l3mdev_accept=1"},
		{"early_demux_match=fast", "not allowed here: write linux or exact"},
		{"tcp_tw_reuse=3", "out of range: write a number from 0 to 2"},
		{"tcp_tw_reuse=", "not a number: write a number from 0 to 2"},
		{"ip_local_port_range=9", `not two ports: write "LOW HIGH", as "32768 60999"`},
		{"tcp_ehash_entries=5", "read-only: it is a read-only report of the table's size; write ehash: {tcp: BUCKETS}"},
	} {
		require.EqualError(t, c.Set(m.arg), "--set "+m.arg+": "+m.want)
	}
}

// TestSetReachesEverySysctl: every row of the table can be set by name.
func TestSetReachesEverySysctl(t *testing.T) {
	c := Default()
	Walk(Keys(), func(k Key) {
		if len(k.Sub) > 0 || k.Path == "" {
			return
		}
		if p := k.Path; len(p) > 14 && p[:14] == "vrfs[].sysctl." {
			value := k.Default
			if value == "" {
				value = k.Sample
			}
			if value[0] == '"' {
				value = value[1 : len(value)-1]
			}
			require.NoError(t, c.Set(k.Name()+"="+value), k.Path)
		}
	})
}
