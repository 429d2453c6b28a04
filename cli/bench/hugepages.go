package bench

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
)

const (
	hugePool = "/proc/sys/vm/nr_hugepages"
	hugeSize = 2 << 20
)

// reserveHuge adds 2 MiB pages for so many bytes to the system's pool, when it
// is root and the pages are that large, and returns what gives them back. Where
// there are none to be had tables fall back to transparent ones: rows say which
// pages they ran on.
func reserveHuge(bytes uint64) (release func()) {
	nothing := func() {}
	had, err := strconv.Atoi(readLine(hugePool))
	if err != nil || os.Geteuid() != 0 || readLine("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages") != strconv.Itoa(had) {
		return nothing
	}
	if setHuge(had+int((bytes+hugeSize-1)/hugeSize)) != nil {
		return nothing
	}
	now, err := strconv.Atoi(readLine(hugePool))
	if err != nil || now <= had {
		return nothing
	}
	giveBack := sync.OnceFunc(func() {
		// Others may have changed the pool meanwhile: take back what came, no more.
		if n, err := strconv.Atoi(readLine(hugePool)); err == nil {
			_ = setHuge(max(0, n-(now-had)))
		}
	})
	// A benchmark that someone stops must not keep the machine's memory. The
	// pages in use leave the pool when the process has ended.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-stop; ok {
			giveBack()
			os.Exit(130)
		}
	}()
	return func() {
		signal.Stop(stop)
		close(stop)
		giveBack()
	}
}

func setHuge(n int) error {
	return os.WriteFile(hugePool, fmt.Appendln(nil, n), 0o644)
}
