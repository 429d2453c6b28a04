// Package prefetch brings cache lines in before they are read. It only hints:
// no pointer is followed, nothing is loaded into Go, and a bad address does
// nothing. On architectures without an assembly file the functions are empty.
//
// Lines prefetches into the second level cache. A core tracks few misses of its
// first level (16 to 24) and drops prefetches beyond that number; of the second
// level it tracks a whole burst's. Measured on an AMD EPYC with 64 random lines
// of 64 MiB at a time: 14 ns a line with PREFETCHT1, 21 ns with PREFETCHT0.
package prefetch

// LineSize is the distance between consecutive indices of Lines, in bytes.
const LineSize = 64
