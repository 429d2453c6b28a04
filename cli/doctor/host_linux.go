package doctor

import (
	"os"

	"golang.org/x/sys/unix"

	"edemux/dataplane/dpdk"
)

// ThisHost is the machine that the program runs on.
func ThisHost() Host {
	h := Host{Built: dpdk.Built, Version: dpdk.Version(), EUID: os.Geteuid(), Memlock: ^uint64(0)}
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l); err == nil && l.Cur != unix.RLIM_INFINITY {
		h.Memlock = l.Cur
	}
	return h
}
