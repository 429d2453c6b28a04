//go:build amd64 || arm64

package prefetch

import "unsafe"

// Line prefetches the cache line at p into all levels.
//
//go:noescape
func Line(p unsafe.Pointer)

// Lines prefetches the line base + 64*idx[i] for every i, into the second level.
//
//go:noescape
func Lines(base unsafe.Pointer, idx []uint32)
