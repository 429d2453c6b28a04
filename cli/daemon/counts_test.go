package daemon

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"edemux/cli/control"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scrape returns the samples of /metrics of a snapshot by name and labels.
func (r *running) scrape(id uint64) map[string]string {
	r.t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://%s/metrics?snapshot=%d", r.d.metrics.Addr(), id))
	require.NoError(r.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, resp.StatusCode, string(b))
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "edemux_") {
			i := strings.LastIndexByte(line, ' ')
			all[line[:i]] = line[i+1:]
		}
	}
	return all
}

// number finds one sample of Prometheus.
func number(t testing.TB, all map[string]string, name string) uint64 {
	t.Helper()
	var f float64
	require.Contains(t, all, name)
	_, err := fmt.Sscan(all[name], &f)
	require.NoError(t, err)
	return uint64(f)
}

// TestOneSetOfNumbers: every answer for one snapshot id shows the same numbers,
// under load, and they add up.
func TestOneSetOfNumbers(t *testing.T) {
	r := start(t, base, mixed(200))
	r.frames(10000)
	for range 10 {
		s, err := r.Snapshot(ctx(t), 0)
		require.NoError(t, err)
		conserved(t, s)
		again, err := r.Snapshot(ctx(t), s.Snapshot)
		require.NoError(t, err)
		assert.Equal(t, s, again)
		prom := r.scrape(s.Snapshot)
		flat, err := r.Counters(ctx(t), s.Snapshot)
		require.NoError(t, err)
		require.Equal(t, s.Snapshot, flat.Snapshot)
		sameSamples(t, flat.Counters, prom)
		assert.Equal(t, s.Ports[0].Verdicts.Deliver, number(t, prom, `edemux_frames_total{port="eth0",verdict="deliver"}`))
		assert.Equal(t, s.VRFs[0].Paths["listener"], number(t, prom, `edemux_path_frames_total{path="listener",vrf="default"}`))
		assert.Equal(t, s.VRFs[0].Early.UDP.Tried, number(t, prom, `edemux_early_demux_tried_total{proto="udp",vrf="default"}`))
		assert.Equal(t, s.Drops[0].Frames, number(t, prom, fmt.Sprintf(`edemux_drop_frames_total{reason="%s",vrf="default"}`, s.Drops[0].Reason)))
		for i, w := range s.Workers {
			pool, index, _ := strings.Cut(w.Name, "/")
			assert.Equal(t, w.Packets, number(t, prom, fmt.Sprintf(`edemux_worker_packets_total{pool="%s",worker="%s"}`, pool, index)), "%d", i)
		}
		assert.Equal(t, s.Snapshot, number(t, prom, "edemux_snapshot_id"))
		assert.Equal(t, s.MIB["UdpInDatagrams"], number(t, prom, `edemux_mib_total{name="UdpInDatagrams"}`))
	}
}

// sameSamples: the registry as JSON and as Prometheus, sample by sample.
func sameSamples(t *testing.T, flat []control.Sample, prom map[string]string) {
	assert.Len(t, flat, len(prom))
	for _, c := range flat {
		var labels []string
		for _, k := range []string{"by", "group", "lcore", "name", "path", "pool", "port", "proto", "queue", "reason", "size", "state", "verdict", "vrf", "worker"} {
			if v, ok := c.Labels[k]; ok {
				labels = append(labels, fmt.Sprintf("%s=%q", k, v))
			}
		}
		key := c.Name
		if len(labels) > 0 {
			key += "{" + strings.Join(labels, ",") + "}"
		}
		if assert.Contains(t, prom, key) {
			var f float64
			_, err := fmt.Sscan(prom[key], &f)
			require.NoError(t, err)
			assert.InDelta(t, c.Value, f, 1e-9*c.Value, key)
		}
	}
}

// conserved checks that the accounts of a snapshot add up.
func conserved(t testing.TB, s *control.Snapshot) {
	t.Helper()
	var ports, vrfs, lcores, drops, queues uint64
	for i := range s.Ports {
		ports += s.Ports[i].Verdicts.Sum()
		for _, q := range s.Ports[i].Queues {
			queues += q.Frames
		}
	}
	for i := range s.VRFs {
		v := &s.VRFs[i]
		vrfs += v.Verdicts.Sum()
		var d uint64
		for _, n := range v.Drops {
			d += n
		}
		assert.Equal(t, v.Verdicts.Drop, d, "drops of VRF %s", v.Name)
	}
	for i := range s.Lcores {
		lcores += s.Lcores[i].Frames
	}
	for _, d := range s.Drops {
		drops += d.Frames
	}
	assert.Equal(t, s.Totals.Frames, ports)
	assert.Equal(t, s.Totals.Frames, vrfs)
	assert.Equal(t, s.Totals.Frames, lcores)
	assert.Equal(t, s.Totals.Frames, s.Totals.Verdicts.Sum())
	assert.Equal(t, s.Totals.Verdicts.Drop, drops)
	assert.GreaterOrEqual(t, queues, s.Totals.Frames, "frames that no queue has given")
	var packets uint64
	for _, w := range s.Workers {
		packets += w.Packets
	}
	assert.Equal(t, s.Totals.Verdicts.Deliver+s.Totals.Copies, packets)
}

func TestClearCounters(t *testing.T) {
	r := start(t, strings.Replace(base, "loop: 0", "loop: 0, speed: 20000pps", 1), mixed(100))
	before := r.frames(3000)
	_, err := r.ClearCounters(ctx(t))
	require.NoError(t, err)
	after, err := r.Snapshot(ctx(t), 0)
	require.NoError(t, err)
	assert.Less(t, after.Totals.Frames, before.Totals.Frames)
	conserved(t, after)
	old, err := r.Snapshot(ctx(t), before.Snapshot)
	require.NoError(t, err)
	assert.Equal(t, before, old, "an answer that was given stays as it is")
}

func TestSnapshotsExpire(t *testing.T) {
	r := start(t, base, mixed(10))
	first, err := r.Snapshot(ctx(t), 0)
	require.NoError(t, err)
	for range 80 {
		_, err := r.Snapshot(ctx(t), 0)
		require.NoError(t, err)
	}
	_, err = r.Snapshot(ctx(t), first.Snapshot)
	var e *control.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, control.CodeGone, e.Code)
	assert.Equal(t, http.StatusGone, e.Status)
}

// TestHealth is what a supervisor asks.
func TestHealth(t *testing.T) {
	r := start(t, base, mixed(10))
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404, "/metrics?snapshot=x": 400, "/metrics?snapshot=999999": 410} {
		resp, err := http.Get("http://" + r.d.metrics.Addr() + path)
		require.NoError(t, err)
		resp.Body.Close()
		assert.Equal(t, want, resp.StatusCode, path)
	}
	r.d.ready.Store(false)
	resp, err := http.Get("http://" + r.d.metrics.Addr() + "/readyz")
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, 503, resp.StatusCode)
}
