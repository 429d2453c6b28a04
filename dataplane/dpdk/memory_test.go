package dpdk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadHugePages(t *testing.T) {
	root := t.TempDir()
	for _, s := range []HugePageSize{{2048, 3, 10}, {1048576, 1, 2}} {
		d := filepath.Join(root, fmt.Sprintf("kernel/mm/hugepages/hugepages-%dkB", s.KB))
		require.NoError(t, os.MkdirAll(d, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(d, "free_hugepages"), fmt.Appendln(nil, s.Free), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(d, "nr_hugepages"), fmt.Appendln(nil, s.Total), 0o644))
	}
	h := ReadHugePages(root)
	require.Equal(t, 6+1024, h.FreeMB)
	require.Equal(t, 20+2048, h.TotalMB)
	require.Contains(t, h.String(), "3 of 10 pages of 2048 kB free")
	require.Equal(t, "none reserved", ReadHugePages(t.TempDir()).String())
}

func TestSizePool(t *testing.T) {
	s := SizePool(PoolNeed{RxQueues: 2, RxDesc: 1024, TxQueues: 2, TxDesc: 1024, Lcores: 2, Burst: 64, MTU: 1500})
	// 2*1024 + 2*1024 + 2*3*64 + 3*384 = 5632
	require.Equal(t, 8191, s.Mbufs)
	require.Equal(t, 2048, s.DataRoom)
	require.Equal(t, 8191*(64+128+128+2048), s.Bytes)
	require.Contains(t, s.Why, "= 5632, up to 2^n-1")
	require.Greater(t, MemoryMB(s)<<20, s.Bytes+40<<20)

	chained := SizePool(PoolNeed{RxQueues: 1, RxDesc: 1024, MTU: 9000})
	require.Equal(t, 8191, chained.Mbufs, "five segments a frame")
	whole := SizePool(PoolNeed{RxQueues: 1, RxDesc: 1024, MTU: 9000, Contiguous: true, Meta: true})
	require.Equal(t, 2047, whole.Mbufs)
	require.Equal(t, 9026, whole.DataRoom)
	require.Equal(t, metaBytes, whole.Priv)
}

func TestSizePoolNeverTooSmall(t *testing.T) {
	for need := 0; need < 5000; need += 7 {
		s := SizePool(PoolNeed{RingSlots: need})
		require.GreaterOrEqual(t, s.Mbufs, need+poolCache*3/2)
		require.Zero(t, s.Mbufs&(s.Mbufs+1), "2^n-1 wastes nothing in a mempool's ring")
	}
}
