//go:build dpdk

package dpdk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestInitRestoresAffinity(t *testing.T) {
	if !alone(t) {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	e := eal(t, cpu())
	require.NoError(t, unix.SchedGetaffinity(0, &after))
	require.Equal(t, before, after)
	t.Log(strings.Join(e.Describe(), "\n"))
	require.Contains(t, strings.Join(e.Describe(), "\n"), "lcore 1 polls on CPU")

	moved, err := e.KeepOff()
	require.NoError(t, err)
	if runtime.NumCPU() > 1 {
		require.Positive(t, moved)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	workers := 0
	for _, task := range tasks {
		name, _ := os.ReadFile(filepath.Join("/proc/self/task", task.Name(), "comm"))
		if ealThread(strings.TrimSpace(string(name))) {
			workers++
		}
	}
	require.Equal(t, 1, workers, "EAL names its lcores as ealThread expects")

	_, err = Init(Options{})
	require.ErrorContains(t, err, "EAL: init: one EAL per process")
}

func TestInitRefusesBadArgument(t *testing.T) {
	if !alone(t) {
		return
	}
	_, err := Init(Options{Prefix: "edemux-test-bad", Extra: []string{"--no-such-option"}})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "EAL", e.Object)
	require.NotContains(t, err.Error(), "\n")
	t.Log(err)
}

func TestPrefixInUse(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t)
	pid, used := prefixOwner(filepath.Base(e.RuntimeDir()))
	require.True(t, used)
	require.Equal(t, os.Getpid(), pid)
	removed, err := RemoveStale(filepath.Dir(e.RuntimeDir()))
	require.NoError(t, err)
	require.NotContains(t, removed, filepath.Base(e.RuntimeDir()), "a live process keeps its folder")
}

func TestLcoresRunGo(t *testing.T) {
	if !alone(t) {
		return
	}
	cpus := []int{cpu()}
	if cpu() > 0 {
		cpus = append(cpus, 0)
	}
	e := eal(t, cpus...)
	var running atomic.Bool
	running.Store(true)
	var on [2]atomic.Int64
	for i, l := range e.Lcores() {
		require.NoError(t, e.Launch(l.ID, func() {
			var s unix.CPUSet
			_ = unix.SchedGetaffinity(0, &s)
			if s.Count() == 1 && s.IsSet(l.CPU) {
				on[i].Store(int64(l.CPU) + 1)
			}
			for running.Load() {
				time.Sleep(time.Millisecond)
			}
		}, nil))
		require.ErrorContains(t, e.Launch(l.ID, func() {}, nil), "busy")
	}
	time.Sleep(20 * time.Millisecond)
	running.Store(false)
	for i, l := range e.Lcores() {
		require.NoError(t, e.Wait(l.ID))
		require.Equal(t, int64(l.CPU)+1, on[i].Load(), "pinned to its CPU")
	}
	require.ErrorContains(t, e.Launch(77, func() {}, nil), "lcore 77: launch: no such worker lcore")
}

func TestLcorePanicIsOneError(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t, cpu())
	id := e.Lcores()[0].ID
	told := make(chan error, 1)
	var nothing []int
	require.NoError(t, e.Launch(id, func() { nothing[cpu()]++ }, func(err error) { told <- err }))
	err := e.Wait(id)
	var p *PanicError
	require.ErrorAs(t, err, &p)
	require.True(t, errors.Is(<-told, err))
	require.Contains(t, err.Error(), "lcore 1: panic: runtime error: index out of range")
	require.Contains(t, p.Stack, "TestLcorePanicIsOneError")
	ran := false
	require.NoError(t, e.Launch(id, func() { ran = true }, nil), "the lcore can be used again")
	require.NoError(t, e.Wait(id))
	require.True(t, ran)
}

func TestClock(t *testing.T) {
	if !alone(t) {
		return
	}
	eal(t)
	last := NowNS()
	require.InDelta(t, time.Now().UnixNano(), last, 2e6)
	for range 200 {
		SyncClock()
		now := NowNS()
		require.GreaterOrEqual(t, now, last)
		last = now
		time.Sleep(time.Millisecond)
	}
	require.InDelta(t, time.Now().UnixNano(), NowNS(), 2e6)
	require.Greater(t, TSC(), uint64(0))
	start, wall := TSC(), time.Now()
	time.Sleep(100 * time.Millisecond)
	ticks := float64(TSC() - start)
	require.InEpsilon(t, time.Since(wall).Seconds(), ticks/TSCHz(), 0.01)
}

func TestPoolTooLarge(t *testing.T) {
	if !alone(t) {
		return
	}
	e := eal(t)
	_, err := e.NewPool("huge", SizePool(PoolNeed{RingSlots: 1 << 20}))
	require.ErrorContains(t, err, "pool huge: create")
	require.ErrorContains(t, err, "Cannot allocate memory")
}
