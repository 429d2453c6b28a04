package packet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// TestTransportReasons: the checks of udp_rcv and tcp_v4_rcv, for both families.
func TestTransportReasons(t *testing.T) {
	ok, small := mib.NotDropped, mib.PktTooSmall
	syn := uint8(packet.SYN)
	for fam, ip := range map[string]func() *packettest.Builder{"v4": ip4, "v6": ip6} {
		udp := func() *packettest.Builder { return ip().UDP(1000, 53) }
		tcp := func() *packettest.Builder { return ip().TCP(1000, 53, syn) }
		for name, c := range map[string]struct {
			b    *packettest.Builder
			want mib.Reason
			sum  bool // L4CsumBad
		}{
			"udp":                {udp().PayloadLen(9), ok, false},
			"udp empty":          {udp(), ok, false},
			"udp checksum":       {udp().BadSum().PayloadLen(9), ok, true},
			"udp length 7":       {udp().Set16(4, 7).PayloadLen(9), small, false},
			"udp length beyond":  {udp().Set16(4, 18).PayloadLen(9), small, false},
			"udp 4 bytes":        {ip().Proto(17).PayloadLen(4), small, false},
			"udp 0 bytes":        {ip().Proto(17), small, false},
			"tcp":                {tcp().PayloadLen(9), ok, false},
			"tcp options":        {ip().TCP(1000, 53, syn).TCPOptions(2, 4, 5, 180).PayloadLen(3), ok, false},
			"tcp checksum":       {tcp().BadSum().PayloadLen(9), mib.TCPCsum, true},
			"tcp checksum field": {tcp().NoSum().PayloadLen(9), mib.TCPCsum, true},
			"tcp doff 4":         {tcp().Set(12, 0x40).PayloadLen(9), small, false},
			"tcp doff beyond":    {tcp().Set(12, 0x80).PayloadLen(9), small, false},
			"tcp 19 bytes":       {ip().Proto(6).PayloadLen(19), small, false},
			"tcp 0 bytes":        {ip().Proto(6), small, false},
			"sctp":               {ip().SCTP(1000, 53), ok, false},
			"dccp":               {ip().DCCP(1000, 53), ok, false},
			"udp-lite":           {ip().UDPLite(1000, 53).PayloadLen(4), ok, false},
			"sctp 3 bytes":       {ip().Proto(132).PayloadLen(3), ok, false},
		} {
			m := parse(c.b.Frame())
			name = fam + " " + name
			assert.Equal(t, ok, m.Reason, name)
			assert.Equal(t, c.want, m.L4Reason, name)
			assert.Equal(t, c.sum, m.Has(packet.L4CsumBad), name)
			if c.want == ok && m.L4Len > 3 {
				assert.EqualValues(t, 53, m.Dport, name)
			}
		}
	}
}

func TestUDPChecksum(t *testing.T) {
	m := parse(ip4().UDP(1, 2).NoSum().PayloadLen(5).Frame())
	assert.True(t, m.Has(packet.UDPZeroCsum))
	assert.False(t, m.Has(packet.L4CsumBad), "none over IPv4 is none")
	m = parse(ip6().UDP(1, 2).NoSum().PayloadLen(5).Frame())
	assert.True(t, m.Has(packet.UDPZeroCsum), "for the socket to accept or not")
	assert.False(t, m.Has(packet.L4CsumBad))
	m = parse(ip4().UDP(1, 2).Set16(4, 10).PayloadLen(5).Frame())
	assert.True(t, m.Has(packet.L4CsumBad), "made over more than the UDP length")
	assert.EqualValues(t, 2, m.PayloadLen)
	m = parse(ip6().UDP(1, 2).Set16(4, 0).PayloadLen(5).Frame())
	assert.EqualValues(t, 5, m.PayloadLen, "IPv6: 0 stands for the whole")
	assert.Equal(t, mib.NotDropped, m.L4Reason)
	m = parse(ip4().UDP(1, 2).Set16(4, 0).PayloadLen(5).Frame())
	assert.Equal(t, mib.PktTooSmall, m.L4Reason)
}

func TestTCPFields(t *testing.T) {
	m := parse(ip4().TCP(1000, 53, packet.PSH|packet.ACK).Seq(0x01020304, 0xfffefdfc).TCPOptions(1, 1, 1, 1).PayloadLen(11).Frame())
	assert.True(t, m.Has(packet.HasTCP))
	assert.EqualValues(t, 0x01020304, m.Seq)
	assert.EqualValues(t, 0xfffefdfc, m.Ack)
	assert.EqualValues(t, packet.PSH|packet.ACK, m.TCPFlags)
	assert.EqualValues(t, 24, m.Doff)
	assert.EqualValues(t, 11, m.PayloadLen)
	assert.EqualValues(t, 14+20+24, m.Payload)
}

func TestICMP(t *testing.T) {
	for typ := range 256 {
		m := parse(ip4().ICMP(uint8(typ), 3, 0).PayloadLen(28).Frame())
		assert.True(t, m.Has(packet.HasICMP))
		assert.EqualValues(t, typ, m.ICMPType)
		assert.EqualValues(t, 3, m.ICMPCode)
		err := typ == 3 || typ == 4 || typ == 5 || typ == 11 || typ == 12
		assert.Equal(t, err, m.Has(packet.ICMPError), "type %d", typ)
		m = parse(ip6().ICMP(uint8(typ), 0, 0).PayloadLen(48).Frame())
		assert.Equal(t, typ >= 1 && typ <= 4, m.Has(packet.ICMPError), "ICMPv6 type %d", typ)
	}
	m := parse(ip4().Proto(packet.ProtoICMPv6).PayloadLen(60).Frame())
	assert.False(t, m.Has(packet.HasICMP), "ICMPv6 inside IPv4 is nothing")
	m = parse(ip4().Proto(packet.ProtoICMP).PayloadLen(7).Frame())
	assert.False(t, m.Has(packet.HasICMP))
}

func TestICMPSum(t *testing.T) {
	for name, b := range map[string]*packettest.Builder{
		"v4": ip4().ICMP(3, 3, 0), "v6": ip6().ICMP(1, 4, 0),
	} {
		for _, n := range []int{0, 1, 28, 29, 64} {
			f := b.Clone().PayloadLen(n).Frame()
			m := parse(f)
			ok, known := packet.ICMPSum(f.Data, &m)
			assert.True(t, ok && known, "%s %d", name, n)
		}
		f := b.Clone().BadSum().PayloadLen(28).Frame()
		m := parse(f)
		ok, known := packet.ICMPSum(f.Data, &m)
		assert.True(t, !ok && known, name)
		f = b.Clone().PayloadLen(28).Snap(80)
		f.Data = f.Data[:len(f.Data)-1]
		m = parse(f)
		_, known = packet.ICMPSum(f.Data, &m)
		assert.False(t, known, name)
	}
	f := ip4().UDP(1, 2).Frame()
	m := parse(f)
	_, known := packet.ICMPSum(f.Data, &m)
	assert.False(t, known)
}

// TestSumMatchesPlainSum holds the unrolled sum to RFC 1071's text.
func TestSumMatchesPlainSum(t *testing.T) {
	d := make([]byte, 131)
	for i := range d {
		d[i] = byte(i*37 + 200)
	}
	for n := range d {
		var s uint32
		for i := 0; i < n; i += 2 {
			w := uint32(d[i]) << 8
			if i+1 < n {
				w |= uint32(d[i+1])
			}
			s += w
		}
		for s>>16 != 0 {
			s = s>>16 + s&0xffff
		}
		assert.Equal(t, ^uint16(s), packet.Fold(packet.Sum(0, d[:n])), "%d bytes", n)
	}
	all := make([]byte, 4096)
	for i := range all {
		all[i] = 0xff
	}
	assert.EqualValues(t, 0, packet.Fold(packet.Sum(0, all)), "carries")
	assert.EqualValues(t, 0, packet.Fold(packet.Sum(^uint64(0), all)))
}
