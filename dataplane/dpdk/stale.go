package dpdk

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// runtimeDir is where EAL keeps a folder per prefix, chosen as EAL chooses it.
func runtimeDir() string {
	base := os.Getenv("RUNTIME_DIRECTORY")
	if base == "" {
		switch x := os.Getenv("XDG_RUNTIME_DIR"); {
		case os.Getuid() == 0:
			base = "/var/run"
		case x != "":
			base = x
		default:
			base = "/tmp"
		}
	}
	return filepath.Join(base, "dpdk")
}

// RemoveStale removes the folders below dir, normally EAL's runtime directory
// (dir ""), that processes which were killed left behind: those with sockets
// none of which anybody answers. A folder without sockets stays, because a
// process may just be starting in it. It returns the prefixes removed.
func RemoveStale(dir string) (removed []string, err error) {
	if dir == "" {
		dir = runtimeDir()
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() || !stale(path) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, e.Name())
	}
	return removed, errors.Join(errs...)
}

// stale reports whether path holds sockets and none of them is answered.
func stale(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return false
	}
	sockets := 0
	for _, e := range entries {
		if e.Type()&os.ModeSocket == 0 {
			continue
		}
		sockets++
		if answered(filepath.Join(path, e.Name())) {
			return false
		}
	}
	return sockets > 0
}

// answered reports whether a process holds the socket. Anything but a refusal
// counts as an answer: removing a live process's files would be worse.
func answered(path string) bool {
	for _, kind := range []string{"unixpacket", "unixgram", "unix"} {
		c, err := net.DialTimeout(kind, path, time.Second)
		switch {
		case err == nil:
			_ = c.Close()
			return true
		case errors.Is(err, unix.EPROTOTYPE):
			continue // a socket of another type: ask again
		default:
			return !errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, unix.ENOENT)
		}
	}
	return false
}

// prefixOwner returns the process that runs under the prefix, 0 when unknown,
// and whether one does.
func prefixOwner(prefix string) (pid int, inUse bool) {
	dir := filepath.Join(runtimeDir(), prefix)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, false
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&os.ModeSocket == 0 || !answered(path) {
			continue
		}
		inUse = true
		if strings.HasPrefix(e.Name(), "dpdk_telemetry") {
			return telemetryPID(path), true
		}
	}
	return 0, inUse
}

// telemetryPID reads the greeting of DPDK's telemetry socket.
func telemetryPID(path string) int {
	c, err := net.DialTimeout("unixpacket", path, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	b := make([]byte, 1024)
	n, err := c.Read(b)
	if err != nil {
		return 0
	}
	var hello struct {
		PID int `json:"pid"`
	}
	_ = json.Unmarshal(b[:n], &hello)
	return hello.PID
}
