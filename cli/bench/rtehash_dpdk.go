//go:build dpdk

package bench

import (
	"fmt"
	"slices"
	"sync"

	"edemux/dataplane/dpdk"
)

// rawKeys: the keys are wanted as bytes too.
const rawKeys = true

// rawSize is the length of a key for a table that hashes bytes.
func rawSize(v6 bool) int {
	if v6 {
		return 40
	}
	return 16
}

// rteEAL is the process's EAL, started with the first table.
var rteEAL struct {
	once sync.Once
	eal  *dpdk.EAL
	err  error
}

// openEAL starts EAL with memory for two tables of the largest size of the run.
func openEAL(o *Table) (*dpdk.EAL, error) {
	rteEAL.once.Do(func() {
		most := slices.Max(o.Flows)
		bytes := uint64(rteEntries(most))*2*88 + 64<<20 // key, bucket, chain and free list of each
		reserveHuge(bytes)                              // EAL keeps them until the process ends
		rteEAL.eal, rteEAL.err = dpdk.Init(dpdk.Options{MemoryMB: int(bytes >> 20), Prefix: "edemux-bench", NoTelemetry: true})
	})
	return rteEAL.eal, rteEAL.err
}

// rteEntries is the size of a table for n flows and the fresh ones.
func rteEntries(n int) uint32 { return uint32(n + n/8 + 1<<17) }

// rtePages are the pages that EAL took.
func rtePages(eal *dpdk.EAL) string {
	if slices.Contains(eal.Args(), "--no-huge") {
		return "4k"
	}
	return "2M"
}

// rteHolders are DPDK's hash tables, plain and with lock-free readers.
func rteHolders[K comparable](o *Table, n int, v6 bool) (out []*holder[K], err error) {
	eal, err := openEAL(o)
	if err != nil {
		return nil, err
	}
	for _, lf := range []bool{false, true} {
		name, size := "rte_hash", rawSize(v6)
		if lf {
			name = "rte_hash_lf"
		}
		t, err := eal.NewHash(dpdk.HashConfig{Name: name, KeyLen: size, Entries: rteEntries(n), LockFree: lf})
		if err != nil {
			return out, err
		}
		h := &holder[K]{name: name, load: float64(n) / float64(rteEntries(n)), bytes: float64(t.Bytes()) / float64(n), pages: rtePages(eal), shared: lf, close: t.Close}
		h.lookup = func(l *keys[K], at, n int) int { return t.Lookup(l.raw[at*size : (at+n)*size]) }
		h.put = func(l *keys[K], i int) { t.Insert(l.raw[i*size : (i+1)*size]) }
		h.drop = func(l *keys[K], i int) { t.Delete(l.raw[i*size : (i+1)*size]) }
		out = append(out, h)
		buf := make([]byte, 0, 1024*size)
		for i := range n {
			k := keyAt(uint32(i), v6)
			buf = appendRaw(buf, &k)
			if len(buf) == cap(buf) || i == n-1 {
				if want := len(buf) / size; t.Insert(buf) != want {
					return out, fmt.Errorf("%s: full at %d of %d flows", name, i, n)
				}
				buf = buf[:0]
			}
		}
	}
	return out, nil
}
