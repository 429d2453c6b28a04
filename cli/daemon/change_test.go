package daemon

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"edemux/cli/command"
	"edemux/cli/control"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// code is the code of a refusal.
func code(t testing.TB, err error) string {
	t.Helper()
	var e *control.Error
	require.ErrorAs(t, err, &e)
	assert.NotEmpty(t, e.Message)
	return e.Code
}

// TestSocketsComeAndGo opens, connects and closes sockets while their packets
// arrive.
func TestSocketsComeAndGo(t *testing.T) {
	r := start(t, strings.Replace(base, "loop: 0", "loop: 0, speed: 50000pps", 1), mixed(50))
	c := ctx(t)
	ch, err := r.Bind(c, `{name: late, proto: udp, bind: "0.0.0.0:7", worker: web/3}`)
	require.NoError(t, err)
	r.epoch(ch.Epoch)
	a := r.frames(0)
	b := r.frames(a.Totals.Frames + 1000)
	assert.Equal(t, a.Totals.Verdicts.Drop, b.Totals.Verdicts.Drop, "nothing is for nobody any more")
	_, err = r.Connect(c, control.Connect{Spec: `{name: peer, proto: udp, bind: "10.0.0.1:9001", connect: "10.9.4.0:1024", worker: web/1}`})
	require.NoError(t, err)
	_, err = r.Bind(c, `{name: loose, proto: udp, bind: "10.0.0.1:9002", worker: web/1}`)
	require.NoError(t, err)
	_, err = r.Connect(c, control.Connect{Socket: "loose", Remote: "10.9.4.0:1024"})
	require.NoError(t, err)
	s, err := r.Sockets(c, control.SocketQuery{Name: "loose"})
	require.NoError(t, err)
	assert.Equal(t, "10.9.4.0:1024", s.Sockets[0].Remote)
	assert.Equal(t, "connected", s.Sockets[0].State)
	f, err := r.Flows(c, control.FlowQuery{})
	require.NoError(t, err)
	assert.Len(t, f.Flows, 2)
	ch, err = r.CloseSocket(c, "late")
	require.NoError(t, err)
	r.epoch(ch.Epoch)
	_, err = r.CloseSocket(c, "web/2")
	require.NoError(t, err)
	g, err := r.Groups(c, "web")
	require.NoError(t, err)
	assert.Len(t, g.Groups[0].Members, 3)
	_, err = r.CloseSocket(c, "web")
	require.NoError(t, err)
	_, err = r.Groups(c, "web")
	assert.Equal(t, control.CodeNoSuch, code(t, err))
	conf, err := r.Config(c)
	require.NoError(t, err)
	require.Len(t, conf.Changes, 7)
	assert.Equal(t, "close web/2", conf.Changes[5])
	for _, line := range conf.Changes {
		_, err := command.ParseLine(line)
		assert.NoError(t, err, "a change is a command: %s", line)
	}
	conserved(t, r.frames(b.Totals.Frames+1000))
}

// TestBindStorm opens and closes connected sockets whose packets arrive all the
// while: a socket newer than a burst means nothing to it.
func TestBindStorm(t *testing.T) {
	r := start(t, "lcores: [0, 1]\n"+strings.Replace(base, "loop: 0", "loop: 0, speed: 100000pps", 1), mixed(100))
	c := ctx(t)
	for end, n := time.Now().Add(time.Second), 0; time.Now().Before(end); n++ {
		_, err := r.Connect(c, control.Connect{Spec: `{name: hot, proto: udp, bind: "10.0.0.1:7", connect: "10.9.4.5:1029", worker: web/1}`})
		require.NoError(t, err)
		_, err = r.CloseSocket(c, "hot")
		require.NoError(t, err)
	}
	conserved(t, r.frames(1000))
	l, err := r.Lcores(c)
	require.NoError(t, err)
	for _, x := range l.Lcores {
		assert.Equal(t, "polling", x.State, r.log.String())
	}
}

// TestRefusedChanges: what is refused changes nothing and says why.
func TestRefusedChanges(t *testing.T) {
	r := start(t, base, mixed(1))
	c := ctx(t)
	before, err := r.EarlyDemux(c, "")
	require.NoError(t, err)
	for _, x := range []struct {
		code, word string
		try        func() error
	}{
		{control.CodeNoSuch, `no VRF "blue"`, func() error {
			_, err := r.SetEarlyDemux(c, control.SetEarlyDemux{Proto: "udp", VRF: "blue"})
			return err
		}},
		{control.CodeBadRequest, "want ip, tcp or udp", func() error { _, err := r.SetEarlyDemux(c, control.SetEarlyDemux{Proto: "sctp"}); return err }},
		{control.CodeNoSuch, "did you mean tcp_tw_reuse", func() error { _, err := r.SetSysctl(c, control.SetSysctl{Name: "tcp_tw_reus"}); return err }},
		{control.CodeBadRequest, "want a number from 0 to 2", func() error {
			_, err := r.SetSysctl(c, control.SetSysctl{Name: "tcp_tw_reuse", Value: "9"})
			return err
		}},
		{control.CodeBadRequest, "read-only", func() error {
			_, err := r.SetSysctl(c, control.SetSysctl{Name: "tcp_ehash_entries", Value: "9"})
			return err
		}},
		{control.CodeRefused, "address already in use", func() error {
			_, err := r.Bind(c, `{name: x, proto: udp, bind: "0.0.0.0:53", worker: web/0}`)
			return err
		}},
		{control.CodeRefused, "", func() error { _, err := r.Bind(c, `{name: x`); return err }},
		{control.CodeBadRequest, "spec", func() error { _, err := r.Bind(c, ""); return err }},
		{control.CodeNoSuch, `no socket "nobody"`, func() error { _, err := r.CloseSocket(c, "nobody"); return err }},
		{control.CodeNoSuch, `no socket "nobody"`, func() error {
			_, err := r.Connect(c, control.Connect{Socket: "nobody", Remote: "10.0.0.1:9"})
			return err
		}},
		{control.CodeBadRequest, "ADDR:PORT", func() error { _, err := r.Connect(c, control.Connect{Socket: "dns/0", Remote: "x"}); return err }},
		{control.CodeNoSuch, "", func() error { _, err := r.Workers(c, "nobody"); return err }},
		{control.CodeNoSuch, "", func() error { _, err := r.Ports(c, "nobody"); return err }},
		{control.CodeNoSuch, "", func() error { _, err := r.Drops(c, "nobody"); return err }},
		{control.CodeBadRequest, "filter", func() error { _, err := r.Flows(c, control.FlowQuery{Filter: "port port"}); return err }},
		{control.CodeBadRequest, "cursor", func() error { _, err := r.Flows(c, control.FlowQuery{After: "x"}); return err }},
		{control.CodeBadRequest, "limit", func() error { _, err := r.Flows(c, control.FlowQuery{Limit: 1 << 20}); return err }},
	} {
		err := x.try()
		require.Error(t, err, x.word)
		assert.Equal(t, x.code, code(t, err), err.Error())
		assert.Contains(t, err.Error(), x.word)
		assert.NotContains(t, err.Error(), "--set")
	}
	after, err := r.EarlyDemux(c, "")
	require.NoError(t, err)
	assert.Equal(t, before, after, "not even the epoch moved")
}

func TestSysctls(t *testing.T) {
	r := start(t, base, mixed(1))
	c := ctx(t)
	all, err := r.Sysctl(c, "", "")
	require.NoError(t, err)
	assert.Len(t, all.Values, len(command.Sysctls))
	for name, value := range map[string]string{
		"ip_local_port_range": "40000 40100", "ip_local_reserved_ports": "80,9000-9010", "tcp_tw_reuse": "1", "tcp_max_syn_backlog": "77",
		"tcp_midstream": "1", "tcp_idle_timeout": "30", "tcp_l3mdev_accept": "1", "udp_early_demux": "0",
	} {
		_, err := r.SetSysctl(c, control.SetSysctl{Name: name, Value: value})
		require.NoError(t, err, name)
		got, err := r.Sysctl(c, "net.ipv4."+name, "")
		require.NoError(t, err)
		require.Len(t, got.Values, 1)
		assert.Equal(t, value, got.Values[0].Value, name)
	}
	got, err := r.Sysctl(c, "tcp_ehash_entries", "default")
	require.NoError(t, err)
	assert.Equal(t, "65536", got.Values[0].Value)
	assert.True(t, got.Values[0].ReadOnly)
}

func TestObjects(t *testing.T) {
	r := start(t, base, mixed(1))
	for kind, want := range map[command.Kind][]string{
		command.KindVRF: {"default"}, command.KindPort: {"eth0"}, command.KindIface: {"eth0"}, command.KindGroup: {"dns", "web"},
		command.KindWorker: {"web/0", "web/1", "web/2", "web/3", "dns/0", "dns/1"},
		command.KindSocket: {"dns", "dns/0", "dns/1", "web", "web/0", "web/1", "web/2", "web/3"},
	} {
		got, err := r.Objects(ctx(t), kind)
		require.NoError(t, err)
		assert.Equal(t, want, got, kind)
	}
	_, err := r.Objects(ctx(t), command.KindFile)
	assert.Equal(t, control.CodeBadRequest, code(t, err))
	got, err := r.Objects(ctx(t), command.KindReason)
	require.NoError(t, err)
	assert.Contains(t, got, "NO_SOCKET")
}

// TestExplain follows packets through the running state.
func TestExplain(t *testing.T) {
	yaml, frames := connected(4, "loop: 0, speed: 1000pps")
	r := start(t, yaml+"  - {name: web, proto: tcp, bind: \"0.0.0.0:443\", workers: web}\n", frames)
	c := ctx(t)
	e, err := r.Explain(c, control.Explain{Proto: "udp", Src: "10.9.4.0:1024", Dst: "10.0.0.1:9000"})
	require.NoError(t, err)
	assert.Equal(t, "c0", e.Socket)
	assert.Equal(t, "early", e.Path)
	assert.Contains(t, e.Text, "with default:udp_early_demux=0: path established, same socket")
	assert.Contains(t, e.Text, "with default:tcp_early_demux=0: no change")
	e, err = r.Explain(c, control.Explain{Proto: "tcp", Src: "10.9.4.0:1024", Dst: "10.0.0.1:443"})
	require.NoError(t, err)
	assert.Equal(t, "listener", e.Path)
	assert.Contains(t, e.Text, "web: 4 members, chosen by the hash of the flow")
	e, err = r.Explain(c, control.Explain{Proto: "udp", Src: "10.9.4.0:1024", Dst: "10.0.0.1:1"})
	require.NoError(t, err)
	assert.Equal(t, "drop", e.Verdict)
	assert.Equal(t, "NO_SOCKET", e.Reason)
	for line := range strings.Lines(e.Text) {
		assert.LessOrEqual(t, len(line), 81)
	}
	before, err := r.Flows(c, control.FlowQuery{})
	require.NoError(t, err)
	assert.EqualValues(t, 4, before.Total, "explaining a SYN creates no flow")
	for _, bad := range []control.Explain{
		{Proto: "icmp"}, {Proto: "udp", Src: "x", Dst: "10.0.0.1:1"}, {Proto: "udp", Src: "10.0.0.1:1", Dst: "[::1]:2"},
		{Proto: "udp", Src: "10.0.0.1:1", Dst: "10.0.0.2:2", Dev: "eth9"},
	} {
		_, err := r.Explain(c, bad)
		var e *control.Error
		require.ErrorAs(t, err, &e)
		assert.Contains(t, []int{http.StatusBadRequest, http.StatusNotFound}, e.Status)
	}
}
