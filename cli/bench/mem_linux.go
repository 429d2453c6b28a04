package bench

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mapMemory maps zeroed memory outside the Go heap, aligned to huge pages, on
// explicit huge pages, else transparent ones, else on what there is; without
// huge only on 4 KiB pages. It says which and how to give the memory back.
func mapMemory(size uint64, huge bool) (mem []byte, pages string, free func(), err error) {
	size = (size + hugeSize - 1) &^ (hugeSize - 1)
	const flags = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	if huge {
		raw, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, flags|unix.MAP_HUGETLB|unix.MAP_POPULATE)
		if err == nil {
			return raw, "2M", func() { _ = unix.Munmap(raw) }, nil
		}
	}
	raw, err := unix.Mmap(-1, 0, int(size+hugeSize), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, "", nil, fmt.Errorf("cannot map %d bytes: %w", size, err)
	}
	mem, pages = alignHuge(raw)[:size], "4k"
	advice := unix.MADV_NOHUGEPAGE
	if huge {
		advice = unix.MADV_HUGEPAGE
	}
	if unix.Madvise(mem, advice) == nil && huge {
		pages = "2M"
	}
	return mem, pages, func() { _ = unix.Munmap(raw) }, nil
}
