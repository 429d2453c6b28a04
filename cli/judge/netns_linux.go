package judge

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// OnThread runs f on an operating system thread of its own, which ends with f:
// whatever namespace, CPU or user f switched to ends with it.
func OnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread dies
		done <- f()
	}()
	return <-done
}

// newNamespace puts the calling thread into a new network namespace.
func newNamespace() (netns.NsHandle, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if errors.Is(err, unix.EPERM) {
			return netns.None(), ErrNotRoot
		}
		return netns.None(), fmt.Errorf("new network namespace: %w", err)
	}
	return netns.Get()
}

// ErrNotRoot says what the judge lacks.
var ErrNotRoot = errors.New("needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN) to make network namespaces")

// setSysctls writes files below /proc/sys/net of the thread's namespace.
// Names that this kernel does not have are left out when optional.
func setSysctls(list []sysctlValue) error {
	for _, s := range list {
		err := os.WriteFile("/proc/sys/net/"+s.name, []byte(strconv.Itoa(s.value)), 0o644)
		if err != nil && !(s.optional && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("sysctl net/%s=%d: %w", s.name, s.value, err)
		}
	}
	return nil
}

type sysctlValue struct {
	name     string
	value    int
	optional bool
}

// quiet is what keeps a fresh namespace from saying anything by itself and from
// judging packets by things that the engine does not know.
var quiet = []sysctlValue{
	{"ipv4/ip_forward", 1, false}, // first: it resets the others; the engine forwards what has a route
	{"ipv4/conf/all/rp_filter", 0, false},
	{"ipv4/conf/default/rp_filter", 0, false},
	{"ipv4/conf/all/accept_local", 1, false},
	{"ipv4/conf/default/accept_local", 1, false},
	{"ipv4/tcp_syncookies", 0, true},
	{"ipv4/tcp_timestamps", 0, false}, // echoes in captures are of another clock
	{"ipv4/tcp_invalid_ratelimit", 0, false},
	{"ipv4/tcp_ecn", 0, false},
	{"ipv4/icmp_ratemask", 0, false},
	{"ipv6/conf/all/forwarding", 1, false},
	{"ipv6/conf/default/accept_dad", 0, false},
	{"ipv6/conf/default/dad_transmits", 0, false},
	{"ipv6/conf/default/accept_ra", 0, false},
	{"ipv6/conf/default/autoconf", 0, false},
	{"ipv6/conf/default/router_solicitations", 0, false},
	{"ipv6/conf/default/addr_gen_mode", 1, false},
	{"ipv6/conf/default/disable_ipv6", 0, false},
	{"ipv6/icmp/ratelimit", 0, true},
	{"ipv6/ip_nonlocal_bind", 0, false},
}

// pinTo keeps the calling thread on one CPU: frames that it sends are received
// there too.
func pinTo(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on CPU %d: %w", cpu, err)
	}
	return nil
}
