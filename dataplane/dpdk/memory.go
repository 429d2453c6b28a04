package dpdk

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// HugePages are the machine's hugepages.
type HugePages struct {
	FreeMB, TotalMB int
	Sizes           []HugePageSize
}

// HugePageSize counts the pages of one size.
type HugePageSize struct {
	KB, Free, Total int
}

func (h HugePages) String() string {
	var parts []string
	for _, s := range h.Sizes {
		if s.Total > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d pages of %d kB free", s.Free, s.Total, s.KB))
		}
	}
	if len(parts) == 0 {
		return "none reserved"
	}
	return strings.Join(parts, ", ")
}

// ReadHugePages reads the kernel's counts below root, normally "/sys".
func ReadHugePages(root string) (h HugePages) {
	dirs, _ := filepath.Glob(filepath.Join(root, "kernel/mm/hugepages/hugepages-*kB"))
	for _, d := range dirs {
		kb, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(filepath.Base(d), "hugepages-"), "kB"))
		if err != nil {
			continue
		}
		s := HugePageSize{KB: kb, Free: readInt(filepath.Join(d, "free_hugepages")), Total: readInt(filepath.Join(d, "nr_hugepages"))}
		h.Sizes = append(h.Sizes, s)
		h.FreeMB += s.Free * kb / 1024
		h.TotalMB += s.Total * kb / 1024
	}
	return h
}

func readInt(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

// PoolNeed is what a pool must be able to hold at once.
type PoolNeed struct {
	RxQueues, RxDesc int // descriptors that the device keeps filled
	TxQueues, TxDesc int // descriptors sent and not yet reclaimed
	Lcores, Burst    int // a burst in hand and one in each transmit queue per lcore
	RingSlots        int // sum of the sizes of the rings packets wait in
	Reassembly       int // mbufs that may be held by fragments
	MTU              int // decides about the data room and chains
	DataRoom         int // 0: 2048, or what the MTU needs when Contiguous
	Contiguous       bool
	Meta             bool // room for what a capture knows
	NUMA             int
}

// PoolSize is a pool's measure.
type PoolSize struct {
	Mbufs    int
	Cache    int // mbufs cached per lcore
	DataRoom int // bytes of packet data per mbuf, without the headroom
	Priv     int // bytes of private area
	Bytes    int // memory of the whole pool
	NUMA     int
	Why      string // the formula with its numbers
}

const (
	headroom   = 128        // RTE_PKTMBUF_HEADROOM
	mbufBytes  = 128        // struct rte_mbuf
	objHeader  = 64         // mempool's own header, to the cache line
	maxFrame   = 262144     // longest frame a capture may hold
	poolCache  = 256        // mbufs per lcore and refill
	l2Overhead = 14 + 8 + 4 // Ethernet, two tags, FCS
)

// SizePool computes a pool from what it must hold:
//
//	mbufs = segments x (rxq x rxdesc + txq x txdesc + rings + lcores x 3 x burst)
//	        + lcores x 1.5 x cache + reassembly, up to the next 2^n - 1
//
// 1.5 caches per lcore because mempool gives back only above that mark; three
// bursts are the one in hand, one waiting to be sent and one at a worker.
func SizePool(n PoolNeed) PoolSize {
	room := n.DataRoom
	if room == 0 {
		room = defaultDataLen
		if n.Contiguous {
			room = max(room, n.MTU+l2Overhead)
		}
	}
	segments := max(1, (n.MTU+l2Overhead+room-1)/room)
	packets := n.RxQueues*n.RxDesc + n.TxQueues*n.TxDesc + n.RingSlots + n.Lcores*3*n.Burst
	// The main lcore caches too, when control code frees mbufs.
	cached := (n.Lcores + 1) * poolCache * 3 / 2
	need := segments*packets + cached + n.Reassembly
	mbufs := 1
	for mbufs-1 < need {
		mbufs <<= 1
	}
	s := PoolSize{Mbufs: mbufs - 1, Cache: poolCache, DataRoom: room, NUMA: n.NUMA}
	if n.Meta {
		s.Priv = metaBytes
	}
	s.Bytes = s.Mbufs * (objHeader + mbufBytes + s.Priv + headroom + room)
	s.Why = fmt.Sprintf("%d mbufs of %d bytes (%.1f MiB): %d segments x (rx %dx%d + tx %dx%d + rings %d + %d lcores x 3 x %d) + caches %d + reassembly %d = %d, up to 2^n-1",
		s.Mbufs, room, float64(s.Bytes)/(1<<20), segments, n.RxQueues, n.RxDesc, n.TxQueues, n.TxDesc, n.RingSlots, n.Lcores, n.Burst, cached, n.Reassembly, need)
	return s
}

// metaBytes is the private area of mbufs that carry a capture's facts.
const metaBytes = 64

// MemoryMB is the packet memory, in MiB, that Options needs for these pools:
// their bytes, an eighth for page and allocator loss, and 48 MiB for DPDK itself.
func MemoryMB(pools ...PoolSize) int {
	b := 0
	for _, p := range pools {
		b += p.Bytes
	}
	return (b+b/8)>>20 + 48
}
