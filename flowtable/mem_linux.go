//go:build linux && !race

package flowtable

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// newRegion maps front+reserve bytes outside the Go heap, aligned to a huge
// page. The front comes from the explicit huge page pool when there is enough
// in it, else the kernel is asked for transparent ones. The front is populated
// at once, so that no lcore takes its page faults and a lack of memory shows
// here. what and the size go into the error.
func newRegion(what string, front, reserve uint64, pages string) (*region, error) {
	size := (front + reserve + hugePage - 1) &^ (hugePage - 1)
	raw, err := unix.Mmap(-1, 0, int(size+hugePage), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, &AllocError{what, size, err}
	}
	off := -uintptr(unsafe.Pointer(&raw[0])) & (hugePage - 1)
	r := &region{base: unsafe.Pointer(&raw[off]), size: size, front: front, raw: raw, pages: "4k"}
	used := raw[off : uint64(off)+size]
	explicit := uint64(0)
	// Errors of Madvise mean a kernel without transparent huge pages. A small
	// table must not take a whole huge page: there may be one for each VRF.
	switch {
	case pages == Pages4K:
		_ = unix.Madvise(used, unix.MADV_NOHUGEPAGE)
	case front >= hugePage/2:
		explicit = r.mapHuge()
		_ = unix.Madvise(used[explicit:], unix.MADV_HUGEPAGE)
	default:
		_ = unix.Madvise(used[:hugePage], unix.MADV_NOHUGEPAGE)
		_ = unix.Madvise(used[hugePage:], unix.MADV_HUGEPAGE)
	}
	if err := populate(used[explicit:max(explicit, front)]); err != nil {
		r.free()
		return nil, &AllocError{what, size, err}
	}
	if explicit > 0 || pages != Pages4K && front >= hugePage/2 && r.transparent() {
		r.pages = "2M"
	}
	if pages == Pages2M && r.pages != "2M" && front >= hugePage {
		r.free()
		return nil, &AllocError{what, size, errors.New("no huge pages")}
	}
	return r, nil
}

// mapHuge replaces the whole huge pages of the front by explicit ones, all or
// none, and returns how many bytes it replaced. Populating with the mapping is
// what makes the pool's lack an error now instead of a SIGBUS later.
func (r *region) mapHuge() uint64 {
	n := r.front &^ (hugePage - 1)
	if n == 0 || freeHuge() < n/hugePage {
		return 0
	}
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_HUGETLB | unix.MAP_FIXED | unix.MAP_POPULATE
	if _, err := unix.MmapPtr(-1, 0, r.base, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, flags); err == nil {
		return n
	}
	// A failed MAP_FIXED may have removed what was there.
	const again = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE | unix.MAP_FIXED
	if _, err := unix.MmapPtr(-1, 0, r.base, uintptr(n), unix.PROT_READ|unix.PROT_WRITE, again); err != nil {
		panic("flowtable: mapping lost: " + err.Error())
	}
	return 0
}

// freeHuge is the number of free pages in the 2 MiB pool.
func freeHuge() (n uint64) {
	b, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscan(string(b), &n); err != nil {
		return 0
	}
	return n
}

// populate makes the pages exist, as one system call where the kernel has it.
func populate(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	err := unix.Madvise(b, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // Linux before 5.14
		for i := 0; i < len(b); i += 4096 {
			b[i] = 0
		}
		return nil
	}
	return err
}

// transparent reports whether the kernel backs most of the front with
// transparent huge pages.
func (r *region) transparent() bool {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	lo, hi := uint64(uintptr(r.base)), uint64(uintptr(r.base))+r.front
	var huge uint64
	inside := false
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var a, b, kb uint64
		line := sc.Text()
		if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &b); n == 2 {
			inside = a < hi && b > lo
		} else if inside && strings.HasPrefix(line, "AnonHugePages:") {
			if n, _ := fmt.Sscanf(line, "AnonHugePages: %d kB", &kb); n == 1 {
				huge += kb << 10
			}
		}
	}
	return huge >= r.front/2 && huge > 0
}

// free unmaps the region. No reader may use it any more.
func (r *region) free() {
	if r.raw != nil {
		if err := unix.Munmap(r.raw); err != nil {
			panic("flowtable: munmap: " + err.Error())
		}
		r.raw = nil
	}
}
