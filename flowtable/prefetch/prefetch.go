// Package prefetch brings cache lines in before they are read. It only hints:
// no pointer is followed, nothing is loaded into Go, and a bad address does
// nothing. On architectures without an assembly file the functions are empty.
package prefetch

// LineSize is the distance between consecutive indices of Lines, in bytes.
const LineSize = 64
