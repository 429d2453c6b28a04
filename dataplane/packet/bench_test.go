package packet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"edemux/dataplane/packet"
)

// TestParseAllocatesNothing covers every seed, good and bad.
func TestParseAllocatesNothing(t *testing.T) {
	var m packet.Meta
	var buf [8]uint16
	for i, f := range seeds() {
		n := testing.AllocsPerRun(20, func() {
			packet.Parse(&f, &verify, &m)
			packet.Embedded(f.Data, &m)
			packet.ICMPSum(f.Data, &m)
			packet.VLANStack(&f, buf[:0])
		})
		assert.Zero(t, n, "seed %d", i)
	}
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct {
		name string
		f    packet.Frame
		o    packet.Options
	}{
		{"udp4", ip4().UDP(1, 2).PayloadLen(18).Frame(), packet.Options{VerifyIP: true}},
		{"udp4-l4", ip4().UDP(1, 2).PayloadLen(18).Frame(), verify},
		{"udp4-1500-l4", ip4().UDP(1, 2).PayloadLen(1472).Frame(), verify},
		{"tcp4", ip4().TCP(1, 2, packet.ACK).PayloadLen(6).Frame(), packet.Options{VerifyIP: true}},
		{"vlan-udp4", udp4(eth().VLAN(5)), packet.Options{VerifyIP: true}},
		{"udp6", ip6().UDP(1, 2).PayloadLen(18).Frame(), packet.Options{VerifyIP: true}},
		{"tcp6-exthdr", ip6().HopByHop().DstOpts().TCP(1, 2, packet.ACK).Frame(), packet.Options{VerifyIP: true}},
		{"udp4-cut", ip4().UDP(1, 2).PayloadLen(1472).Snap(96), packet.Options{VerifyIP: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var frames [64]packet.Frame
			var metas [64]packet.Meta
			for i := range frames {
				frames[i] = c.f
				frames[i].Data = append([]byte(nil), c.f.Data...)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				packet.Parse(&frames[i&63], &c.o, &metas[i&63])
			}
		})
	}
}
