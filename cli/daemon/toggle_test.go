package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"edemux/cli/control"
	"edemux/dataplane/packet/packettest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connected is a configuration with n connected sockets, socket i of worker
// i mod 4, and a capture with a datagram for each.
func connected(n int, source string) (string, []*packettest.Builder) {
	var b strings.Builder
	fmt.Fprintf(&b, "ports:\n  - {name: eth0, queues: 2, source: {pcap: in.pcap, %s}}\nlcores: [0, 1]\nworkers:\n  - {name: web, count: 4}\nsockets:\n", source)
	var frames []*packettest.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - {name: c%d, proto: udp, bind: \"10.0.0.1:%d\", connect: \"10.9.%d.%d:%d\", worker: web/%d}\n",
			i, 9000+i, (1024+i)>>8, (1024+i)&255, 1024+i, i%4)
		frames = append(frames, udp(1024+i, 9000+i))
	}
	return b.String(), frames
}

// TestToggleUnderLoad turns the switches as fast as a client can, up to 1,000
// times a second: no frame is lost, every one reaches its worker.
func TestToggleUnderLoad(t *testing.T) {
	yaml, frames := connected(64, "loop: 5000, speed: 160000pps")
	r := start(t, yaml, frames, func(o *Options) { o.UntilEnd = true })
	began := time.Now()
	protos := []string{"udp", "ip"}
	toggles := 0
	var last uint64
	for ; time.Since(began) < 1500*time.Millisecond; toggles++ {
		c, err := r.SetEarlyDemux(ctx(t), control.SetEarlyDemux{Proto: protos[toggles&1], On: toggles&2 != 0})
		require.NoError(t, err)
		require.Greater(t, c.Epoch, last, "each change has an epoch of its own")
		last = c.Epoch
		if ahead := time.Until(began.Add(time.Duration(toggles) * time.Millisecond)); ahead > 0 {
			time.Sleep(ahead)
		}
	}
	t.Logf("%d toggles in %s", toggles, time.Since(began).Round(time.Millisecond))
	require.Greater(t, toggles, 100)
	select {
	case err := <-r.result:
		r.result <- err
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("does not end")
	}
	c := r.d.host.Engine.Counters()
	assert.EqualValues(t, 64*5000, c.Frames)
	for i, w := range c.Workers {
		assert.EqualValues(t, 16*5000, w.Packets, "worker %d", i)
	}
	v := &c.VRFs[1]
	assert.Equal(t, c.Frames, v.Verdicts[0])
	assert.Positive(t, v.Paths[1], "early")
	assert.Positive(t, v.Paths[2], "established")
	assert.Equal(t, c.Frames, v.Paths[1]+v.Paths[2])
}

// TestToggleTakesEffect: what the answer says holds for every frame that
// comes after every lcore has its epoch.
func TestToggleTakesEffect(t *testing.T) {
	yaml, frames := connected(64, "loop: 0, speed: 50000pps")
	r := start(t, yaml, frames)
	r.frames(1000)
	for _, on := range []bool{false, true, false, true} {
		c, err := r.SetEarlyDemux(ctx(t), control.SetEarlyDemux{Proto: "udp", On: on, VRF: "default"})
		require.NoError(t, err)
		assert.Equal(t, []string{"default"}, c.VRFs)
		r.epoch(c.Epoch)
		a := r.frames(0)
		b := r.frames(a.Totals.Frames + 2000)
		early := b.VRFs[0].Paths["early"] - a.VRFs[0].Paths["early"]
		established := b.VRFs[0].Paths["established"] - a.VRFs[0].Paths["established"]
		if on {
			assert.Zero(t, established)
			assert.Positive(t, early)
		} else {
			assert.Zero(t, early)
			assert.Positive(t, established)
		}
		got, err := r.EarlyDemux(ctx(t), "")
		require.NoError(t, err)
		assert.Equal(t, on, got.VRFs[0].UDP)
	}
}

// epoch waits until every lcore uses an epoch.
func (r *running) epoch(want uint64) {
	r.t.Helper()
	require.Eventually(r.t, func() bool {
		l, err := r.Lcores(ctx(r.t))
		require.NoError(r.t, err)
		for _, x := range l.Lcores {
			if x.Epoch < want {
				return false
			}
		}
		return true
	}, 10*time.Second, time.Millisecond)
}

// BenchmarkToggle is the packet rate with and without 1,000 toggles a second,
// sides in turn; run it with -benchtime 20x.
func BenchmarkToggle(b *testing.B) {
	yaml, frames := connected(64, "loop: 0")
	r := start(b, strings.Replace(yaml, "lcores: [0, 1]", "lcores: [1]", 1), frames)
	var rates [2][]float64
	window := func(toggle bool) float64 {
		a := r.frames(0)
		end := time.Now().Add(200 * time.Millisecond)
		for i := 0; time.Now().Before(end); i++ {
			if toggle {
				_, err := r.SetEarlyDemux(ctx(b), control.SetEarlyDemux{Proto: "udp", On: i&1 == 0})
				require.NoError(b, err)
			}
			time.Sleep(time.Millisecond)
		}
		z := r.frames(0)
		return float64(z.Totals.Frames-a.Totals.Frames) / z.Time.Sub(a.Time).Seconds()
	}
	for i := 0; b.Loop(); i++ {
		side := i & 1
		rates[side] = append(rates[side], window(side == 1))
	}
	if len(rates[1]) > 0 {
		b.ReportMetric(mean(rates[0])/1e6, "Mpps-still")
		b.ReportMetric(mean(rates[1])/1e6, "Mpps-toggling")
		b.ReportMetric(mean(rates[1])/mean(rates[0]), "ratio")
	}
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}
