//go:build !dpdk

package bench

// rteHolders are DPDK's hash tables: none without DPDK.
func rteHolders[K comparable](int, bool) ([]*holder[K], error) { return nil, nil }
