//go:build dpdk

package dpdk

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ask speaks to DPDK's telemetry socket as dpdk-telemetry.py does.
func ask(t *testing.T, c net.Conn, what string) map[string]any {
	t.Helper()
	_, err := c.Write([]byte(what))
	require.NoError(t, err)
	b := make([]byte, 64<<10)
	n, err := c.Read(b)
	require.NoError(t, err)
	require.Less(t, n, 16<<10)
	var m map[string]map[string]any
	require.NoError(t, json.Unmarshal(b[:n], &m), "%s", b[:n])
	path, _, _ := strings.Cut(what, ",")
	return m[path]
}

func TestTelemetry(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t)
	require.NoError(t, e.Register(Command{Path: "/edemux/stats", Help: "Totals.", Answer: func([]string) ([]Field, error) {
		return []Field{
			{"packets", uint64(1) << 60}, {"mode", `ex"act`},
			{"per_lcore", []uint64{1, 2, 3}}, {"names", []string{"a", "b"}},
			{"early", []Field{{"hit", uint64(7)}, {"eth0.100", uint64(8)}}},
		}, nil
	}}))
	require.NoError(t, e.Register(Command{Path: "/edemux/vrf", Help: "One VRF.", Args: 1, Answer: func(a []string) ([]Field, error) {
		if a[0] != "red" {
			return nil, fmt.Errorf("vrf %s: there is none", a[0])
		}
		var f []Field
		for i := range 700 {
			f = append(f, Field{fmt.Sprintf("a_rather_long_counter_name_%d", i), ^uint64(0)})
		}
		return f, nil
	}}))
	require.NoError(t, e.Register(Command{Path: "/edemux/bug", Answer: func([]string) ([]Field, error) { panic("bug") }}))
	require.ErrorContains(t, e.Register(Command{Path: "/edemux/vrf"}), "telemetry /edemux/vrf: register: there already")
	require.ErrorContains(t, e.Register(Command{Path: "no-slash"}), "telemetry no-slash: register: ")

	c, err := net.Dial("unixpacket", filepath.Join(e.RuntimeDir(), "dpdk_telemetry.v2"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = c.Read(make([]byte, 1024))
	require.NoError(t, err)

	got := ask(t, c, "/edemux/stats")
	require.Equal(t, map[string]any{
		"packets": float64(1 << 60), "mode": "ex_act", "per_lcore": []any{1., 2., 3.}, "names": []any{"a", "b"},
		"early": map[string]any{"hit": 7., "eth0_100": 8.},
	}, got)
	require.Equal(t, map[string]any{"error": "vrf blue: there is none"}, ask(t, c, "/edemux/vrf,blue"))
	first := ask(t, c, "/edemux/vrf,red")
	count := len(first) - 2
	for p := 2; p <= int(first["pages"].(float64)); p++ {
		count += len(ask(t, c, fmt.Sprintf("/edemux/vrf,red,%d", p))) - 2
	}
	require.Equal(t, 700, count)
	require.Nil(t, ask(t, c, "/edemux/bug"), "a panic in an answer is not the end")
	require.Equal(t, "One VRF.", ask(t, c, "/help,/edemux/vrf")["/edemux/vrf"])
}
