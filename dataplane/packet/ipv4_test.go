package packet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// TestIPv4Reasons breaks one field after the other, in the order of
// ip_rcv_core; the first failing check names the reason.
func TestIPv4Reasons(t *testing.T) {
	full := tuple{"10.0.0.1", "10.0.0.2", 1000, 53, 17}
	udp := func(b *packettest.Builder) packet.Frame { return b.UDP(1000, 53).PayloadLen(40).Frame() }
	for name, c := range map[string]struct {
		f    packet.Frame
		want mib.Reason
		seen tuple
	}{
		"sound":              {udp(ip4()), mib.NotDropped, full},
		"version 5":          {udp(ip4().Set(0, 0x55)), mib.IPInHdr, tuple{}},
		"version 6":          {udp(ip4().Set(0, 0x65)), mib.IPInHdr, tuple{}},
		"ihl 4":              {udp(ip4().Set(0, 0x44)), mib.IPInHdr, tuple{}},
		"ihl 0":              {udp(ip4().Set(0, 0x40)), mib.IPInHdr, tuple{}},
		"ihl past the end":   {ip4().Set(0, 0x4f).PayloadLen(10).Frame(), mib.IPInHdr, tuple{"10.0.0.1", "10.0.0.2", 0, 0, 0}},
		"checksum":           {udp(ip4().BadSum()), mib.IPCsum, full},
		"checksum first":     {udp(ip4().Set16(2, 9).BadSum()), mib.IPCsum, full},
		"length beyond wire": {udp(ip4().Set16(2, 69)), mib.PktTooSmall, full},
		"length 65535":       {udp(ip4().Set16(2, 65535)), mib.PktTooSmall, full},
		"length under ihl":   {udp(ip4().Set16(2, 19)), mib.IPInHdr, full},
		"length 0":           {udp(ip4().Set16(2, 0)), mib.IPInHdr, full},
		"19 bytes":           {ip4().Snap(14 + 19), mib.PktTooSmall, tuple{"", "", 0, 0, 0}},
	} {
		m := parse(c.f)
		assert.Equal(t, c.want, m.Reason, name)
		assert.Equal(t, c.seen, tupleOf(&m), name)
		assert.EqualValues(t, 4, m.IPVer, name)
	}
}

// TestIPv4ShortOnWire: the wire, not the snap length, ends inside the header.
func TestIPv4ShortOnWire(t *testing.T) {
	for n := range 20 {
		f := ip4().Snap(14 + n)
		f.WireLen = uint32(14 + n)
		m := parse(f)
		assert.Equal(t, mib.IPInHdr, m.Reason, "%d bytes", n)
		assert.False(t, m.Has(packet.HasTuple))
		assert.Equal(t, n >= 16, m.Has(packet.HasSaddr), "%d bytes", n)
	}
}

// TestIPv4Snapped: a cut never makes IP_INHDR or IP_CSUM; what is there is
// used, down to the ports of UDP and the flags of TCP.
func TestIPv4Snapped(t *testing.T) {
	for _, proto := range []uint8{packet.ProtoUDP, packet.ProtoTCP} {
		b := ip4()
		if proto == packet.ProtoUDP {
			b.UDP(1000, 53)
		} else {
			b.TCP(1000, 53, packet.SYN)
		}
		b.PayloadLen(100)
		whole := len(b.Bytes())
		for n := 14; n < whole; n++ {
			m := parse(b.Snap(n))
			enough := 14 + 20 + 4
			if proto == packet.ProtoTCP {
				enough = 14 + 20 + 14
			}
			switch {
			case n < 14+20:
				assert.Equal(t, mib.PktTooSmall, m.Reason, "proto %d, %d bytes", proto, n)
			case n < enough:
				assert.Equal(t, mib.NotDropped, m.Reason, "proto %d, %d bytes", proto, n)
				assert.Equal(t, mib.PktTooSmall, m.L4Reason, "proto %d, %d bytes", proto, n)
				assert.True(t, m.Has(packet.L4Short), "proto %d, %d bytes", proto, n)
			default:
				assert.Equal(t, mib.NotDropped, m.Reason, "proto %d, %d bytes", proto, n)
				assert.Equal(t, mib.NotDropped, m.L4Reason, "proto %d, %d bytes", proto, n)
				assert.EqualValues(t, 53, m.Dport)
				assert.EqualValues(t, 100, m.PayloadLen, "proto %d, %d bytes: lengths are the wire's", proto, n)
			}
			assert.True(t, m.Has(packet.L4Cut), "proto %d, %d bytes", proto, n)
			assert.False(t, m.Has(packet.L4CsumBad), "what is not there is not summed")
		}
	}
}

// TestIPv4SuperFrames: GRO and GSO frames have no usable length.
func TestIPv4SuperFrames(t *testing.T) {
	tcp := func(payload int, tot uint16) packet.Frame {
		return ip4().Set16(2, tot).TCP(1, 2, packet.ACK).PayloadLen(payload).Frame()
	}
	m := parse(tcp(70000, 0))
	assert.Equal(t, mib.NotDropped, m.Reason)
	assert.Equal(t, mib.NotDropped, m.L4Reason)
	assert.EqualValues(t, 70000, m.PayloadLen)
	assert.True(t, m.Has(packet.SuperFrame))
	m = parse(tcp(70000, 70040&0xffff))
	assert.Equal(t, mib.NotDropped, m.Reason, "a length that wrapped")
	assert.EqualValues(t, 70000, m.PayloadLen)
	m = parse(tcp(2900, 0))
	assert.Equal(t, mib.NotDropped, m.Reason, "GSO of two segments")
	assert.EqualValues(t, 2900, m.PayloadLen)
	m = parse(tcp(1000, 0))
	assert.Equal(t, mib.IPInHdr, m.Reason, "one packet must say its length")
	f := ip4().Set16(2, 0).TCP(1, 2, packet.ACK).PayloadLen(70000).Snap(96)
	m = parse(f)
	assert.Equal(t, mib.NotDropped, m.Reason, "super-frame, and cut")
	assert.EqualValues(t, 70000, m.PayloadLen)
	assert.EqualValues(t, 2, m.Dport)
}

func TestIPv4Trailer(t *testing.T) {
	f := ip4().UDP(1, 2).PayloadLen(4).Pad(60).Frame()
	m := parse(f)
	assert.EqualValues(t, 32, m.L3Len)
	assert.EqualValues(t, 12, m.L4Len)
	assert.EqualValues(t, 4, m.PayloadLen)
	assert.False(t, m.Has(packet.L4CsumBad), "the trailer is no part of the packet")
	f = ip4().Proto(packet.ProtoUDP).PayloadLen(2).Pad(60).Frame()
	m = parse(f)
	assert.False(t, m.Has(packet.HasPorts), "ports are not read from the trailer")
	assert.Equal(t, mib.PktTooSmall, m.L4Reason)
}

func TestIPv4Fields(t *testing.T) {
	m := parse(ip4().TTL(7).TOS(0xb9).UDP(1, 2).Frame())
	assert.EqualValues(t, 7, m.TTL)
	assert.EqualValues(t, 0xb9, m.TOS)
	assert.EqualValues(t, 17, m.NextHdr)
	assert.EqualValues(t, 14, m.L3)
	assert.EqualValues(t, 34, m.L4)
	assert.EqualValues(t, 42, m.Payload)
	m = parse(ip4().ID(77).Fragment(0, true).UDP(1, 2).PayloadLen(8).Frame())
	assert.True(t, m.Has(packet.Fragment|packet.HasPorts))
	assert.EqualValues(t, 77, m.FragID)
	assert.Zero(t, m.FragOff)
	assert.True(t, m.MoreFrags)
	m = parse(ip4().ID(77).Fragment(1480, false).Proto(17).PayloadLen(8).Frame())
	assert.True(t, m.Has(packet.Fragment|packet.HasProto))
	assert.False(t, m.Has(packet.HasPorts))
	assert.EqualValues(t, 1480, m.FragOff)
	assert.False(t, m.MoreFrags)
	assert.Equal(t, mib.NotDropped, m.L4Reason)
	m = parse(ip4().Set16(6, 0x4000).UDP(1, 2).Frame())
	assert.False(t, m.Has(packet.Fragment), "don't fragment is not a fragment")
}

// TestIPv4Options follows ip_options_compile.
func TestIPv4Options(t *testing.T) {
	for name, c := range map[string]struct {
		o  []byte
		ok bool
	}{
		"nop":                   {[]byte{1, 1, 1, 1}, true},
		"end":                   {[]byte{0, 9, 9, 9}, true},
		"router alert":          {[]byte{148, 4, 0, 0}, true},
		"router alert short":    {[]byte{148, 3, 0, 0}, false},
		"unknown":               {[]byte{200, 3, 1, 0}, true},
		"length 1":              {[]byte{200, 1, 1, 0}, false},
		"length 0":              {[]byte{200, 0, 1, 0}, false},
		"length past the end":   {[]byte{200, 5, 1, 0}, false},
		"no length":             {[]byte{1, 1, 1, 200}, false},
		"record route":          {[]byte{7, 7, 4, 0, 0, 0, 0}, true},
		"record route full":     {[]byte{7, 7, 8, 1, 2, 3, 4}, true},
		"record route pointer":  {[]byte{7, 7, 3, 0, 0, 0, 0}, false},
		"record route no room":  {[]byte{7, 7, 5, 0, 0, 0, 0}, false},
		"record route no bytes": {[]byte{7, 2, 0, 0}, false},
		"record route twice":    {[]byte{7, 7, 8, 0, 0, 0, 0, 7, 7, 8, 0, 0, 0, 0}, false},
		"timestamp":             {[]byte{68, 8, 5, 0, 0, 0, 0, 0}, true},
		"timestamp with addr":   {[]byte{68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0}, true},
		"timestamp no room":     {[]byte{68, 8, 5, 1, 0, 0, 0, 0}, false},
		"timestamp odd":         {[]byte{68, 8, 6, 0, 0, 0, 0, 0}, false},
		"timestamp short":       {[]byte{68, 3, 5, 0}, false},
		"timestamp pointer":     {[]byte{68, 8, 4, 0, 0, 0, 0, 0}, false},
		"timestamp full":        {[]byte{68, 8, 9, 0x10, 0, 0, 0, 0}, true},
		"timestamp overflow":    {[]byte{68, 8, 9, 0xf0, 0, 0, 0, 0}, false},
		"timestamp twice":       {[]byte{68, 4, 9, 0, 68, 4, 9, 0}, false},
		"loose source route":    {[]byte{131, 7, 4, 10, 0, 0, 9}, false},
		"strict source route":   {[]byte{137, 7, 4, 10, 0, 0, 9}, false},
	} {
		m := parse(ip4().IPOptions(c.o...).UDP(1, 2).PayloadLen(3).Frame())
		assert.Equal(t, mib.NotDropped, m.Reason, name)
		assert.True(t, m.Has(packet.IPOptions|packet.HasPorts), name)
		want := mib.NotDropped
		if !c.ok {
			want = mib.IPInHdr
		}
		assert.Equal(t, want, m.L4Reason, name)
		assert.EqualValues(t, 3, m.PayloadLen, name)
	}
	m := parse(ip4().IPOptions(200, 8, 0, 0, 0, 0, 0, 0).UDP(1, 2).Snap(14 + 24))
	assert.Equal(t, mib.PktTooSmall, m.Reason, "the capture ends in the options")
}

func TestVerifyOff(t *testing.T) {
	f := ip4().BadSum().UDP(1, 2).BadSum().PayloadLen(4).Frame()
	var m packet.Meta
	packet.Parse(&f, &packet.Options{}, &m)
	assert.Equal(t, mib.NotDropped, m.Reason)
	assert.Equal(t, mib.NotDropped, m.L4Reason)
	assert.False(t, m.Has(packet.L4CsumBad))
}
