//go:build !dpdk

package bench

// rawKeys: nobody wants the keys as bytes.
const rawKeys = false

// rteHolders are DPDK's hash tables: none without DPDK.
func rteHolders[K comparable](*Table, int, bool) ([]*holder[K], error) { return nil, nil }
