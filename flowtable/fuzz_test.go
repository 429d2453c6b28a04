package flowtable

import "testing"

// FuzzOps runs the operations that the input encodes on a table and its twin.
func FuzzOps(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3})
	f.Add([]byte("insert, look up, delete, grow and expire in some order"))
	for i := range 8 {
		b := make([]byte, 600)
		for j := range b {
			b[j] = byte(j*j*7 + i*31 + j>>3)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			data = data[:4096]
		}
		next := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			v := int(data[0])
			if data = data[1:]; n > 256 && len(data) > 0 {
				v = v<<8 | int(data[0])
				data = data[1:]
			}
			return v % n
		}
		cfg := []Config{
			{Buckets: 16, Max: 16, Flows: 1000},
			{Buckets: 16, Max: 256, Flows: 1000, Inline: true},
			{Buckets: 16, Max: 256, Flows: 1000, Inline: true, Shared: true},
		}[next(3)]
		o := newOps(t, cfg, Limits{TimeWait: uint64(next(2) * 5)}, 16+next(200), next)
		for n := 0; len(data) > 0 && n < 2000; n++ {
			o.step()
		}
		o.finish()
	})
}
