package capture

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"edemux/dataplane/packet"

	"github.com/stretchr/testify/require"
)

// benchFile is a file of 200,000 frames of 60 bytes, in the page cache.
func benchFile(b *testing.B, ng bool) string {
	path := filepath.Join(b.TempDir(), "bench.pcap")
	f, err := os.Create(path)
	require.NoError(b, err)
	defer f.Close()
	frame := packet.Frame{Data: make([]byte, 60), Link: 1}
	if ng {
		w, err := NewNGWriter(f, "bench")
		require.NoError(b, err)
		id, err := w.Interface("eth0", 1)
		require.NoError(b, err)
		for range 200_000 {
			require.NoError(b, w.Write(id, &frame, ""))
		}
		require.NoError(b, w.Flush())
		return path
	}
	w, err := NewPcapWriter(f, 1)
	require.NoError(b, err)
	for range 200_000 {
		require.NoError(b, w.Write(&frame))
	}
	require.NoError(b, w.Flush())
	return path
}

func BenchmarkNext(b *testing.B) {
	for name, ng := range map[string]bool{"pcap": false, "pcapng": true} {
		b.Run(name, func(b *testing.B) {
			r, err := Open(benchFile(b, ng), Options{})
			require.NoError(b, err)
			defer r.Close()
			var f packet.Frame
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if r.Next(&f) == io.EOF {
					require.NoError(b, r.Rewind())
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mframes/s")
		})
	}
}

func BenchmarkFill(b *testing.B) {
	for name, inputs := range map[string]int{"1 input": 1, "4 inputs": 4} {
		b.Run(name, func(b *testing.B) {
			var rs []*Reader
			path := benchFile(b, false)
			for range inputs {
				r, err := Open(path, Options{})
				require.NoError(b, err)
				rs = append(rs, r)
			}
			m, batch := NewMerge(rs...), NewBatch(256, 0)
			defer m.Close()
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; {
				k, err := m.Fill(batch)
				if err == io.EOF {
					require.NoError(b, m.Rewind())
				}
				n += k
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mframes/s")
		})
	}
}
