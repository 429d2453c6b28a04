package flowtable

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkConnect measures connect and close to one peer with a share of the
// 28,232 ports busy in one run; the figure per candidate is what a busy port
// costs.
func BenchmarkConnect(b *testing.B) {
	for _, c := range peers() {
		for _, busy := range []float64{0, 0.5, 0.95, 0.999} {
			b.Run(fmt.Sprintf("v6=%v/busy=%v", !c.Laddr.Is4(), busy), func(b *testing.B) {
				hs := NewHasher(Secret{1})
				tb, err := New(Config{Name: "bench", Buckets: 65536, Max: 65536, Hasher: hs})
				noErr(b, err)
				defer tb.Close()
				s, err := tb.Space("default", hs.Seed("default"), Limits{})
				noErr(b, err)
				p := NewPorts(Secret{1})
				n := int(busy * 28232)
				for i := range n {
					occupy(b, s, &c, c.Low+uint16((i*15)%28232), Flow{Sock: 1})
				}
				candidates := 0
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				from := threadCPU(b)
				for b.Loop() {
					out, err := s.Connect(p, &c, int64(candidates)*seedTime)
					noErr(b, err)
					candidates += out.Candidates
					k := c.at(out.Port)
					noErr(b, s.Delete(out.Ref, &k))
				}
				b.ReportMetric(float64(candidates)/float64(b.N), "candidates/op")
				b.ReportMetric(float64(threadCPU(b)-from)/float64(candidates), "ns/candidate")
			})
		}
	}
}
