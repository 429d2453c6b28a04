package packet

import "testing"

// udp60 is a 60-byte Ethernet frame, padded, with 18 bytes of UDP payload.
func udp60() []byte {
	d := make([]byte, 60)
	copy(d, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
		0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		0x30, 0x39, 0, 53, 0, 26, 0, 0})
	c := Fold(Sum(0, d[14:34]))
	d[24], d[25] = byte(c>>8), byte(c)
	return d
}

func BenchmarkParseUDP4(b *testing.B) {
	frames := make([]Frame, 64)
	for i := range frames {
		d := udp60()
		frames[i] = Frame{Data: d, WireLen: 60, Link: LinkEthernet}
	}
	metas := make([]Meta, 64)
	o := &Options{VerifyIP: true}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Parse(&frames[i&63], o, &metas[i&63])
	}
}
