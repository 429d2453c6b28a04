package demux

import (
	"fmt"
	"testing"
	"unsafe"

	"edemux/demux/cbpf"

	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	require.Equal(t, uintptr(64), unsafe.Sizeof(Sock{}), "one cache line")
	require.Equal(t, uintptr(8), unsafe.Sizeof(slot{}))
}

// TestLookupsAllocateNothing covers each branch of the lookups.
func TestLookupsAllocateNothing(t *testing.T) {
	b := vrfBuilder(t)
	for _, s := range []string{
		"t tcp 0.0.0.0:80", "u udp 0.0.0.0:80", "c udp 10.0.0.1:81 connect=10.0.0.9:9", "d udp 10.0.0.1:82 reuseaddr connect=10.0.0.9:9",
		"e udp 10.0.0.1:82 reuseaddr", "m udp 0.0.0.0:83",
	} {
		mustAdd(t, b, s)
	}
	for i := range 20 {
		mustAdd(t, b, fmt.Sprintf("g%d udp [::]:84 reuseport", i))
		mustAdd(t, b, fmt.Sprintf("h%d udp [::]:85 reuseport cpu=%d", i, i%4))
		mustAdd(t, b, fmt.Sprintf("p%d udp [::]:86 reuseport", i))
		mustAdd(t, b, fmt.Sprintf("m%d udp 0.0.0.0:87 reuseport", i))
	}
	for _, dev := range []string{"eth0", "eth1", "eth2", "eth3", "red", "blue"} {
		mustAdd(t, b, dev+".80 tcp 0.0.0.0:88 reuseport dev="+dev)
		mustAdd(t, b, dev+".6 tcp [::]:88 reuseport v6only dev="+dev)
	}
	require.NoError(t, b.Attach(b.Lookup("p0"), asm(t, "ld [0]; mod #4; ret a")))
	j := Join{Group: addr("224.1.1.1"), Ifindex: b.v.IfaceByName("eth0").Index}
	require.NoError(t, b.Join(b.Lookup("m"), j))
	require.NoError(t, b.SetRules([]Rule{{Proto: TCP, AnyVRF: true, Low: 90, Top: 99, Socket: b.Lookup("t")}}))
	v := b.Publish()
	in := &cbpf.Input{Data: []byte{0, 0, 0, 9}}
	buf := make([]SockID, 0, 64)
	for _, c := range []struct {
		proto    uint8
		src, dst string
		dev      string
	}{
		{TCP, "10.0.0.9:9", "10.0.0.1:80", "eth0"}, {TCP, "10.0.0.9:9", "10.0.0.1:88", "eth1"}, {TCP, "10.0.0.9:9", "10.0.0.1:95", "eth0"},
		{TCP, "[2001:db8::9]:9", "[2001:db8::1]:88", "eth1"}, {TCP, "10.0.0.9:9", "10.0.0.1:1", "eth0"},
		{UDP, "10.0.0.9:9", "10.0.0.1:80", "eth0"}, {UDP, "10.0.0.9:9", "10.0.0.1:81", "eth0"}, {UDP, "10.0.0.9:9", "10.0.0.1:82", "eth0"},
		{UDP, "10.0.0.8:9", "10.0.0.1:82", "eth0"}, {UDP, "[2001:db8::9]:9", "[2001:db8::1]:84", "eth0"}, {UDP, "10.0.0.9:9", "10.0.0.1:85", "eth0"},
		{UDP, "10.0.0.9:9", "10.0.0.1:86", "eth0"}, {UDP, "10.0.0.9:9", "224.1.1.1:83", "eth0"}, {UDP, "10.0.0.9:9", "224.1.1.1:87", "eth0"},
	} {
		q := on(v, query(b, c.proto, c.src, c.dst), c.dev)
		q.Prog = in
		n := testing.AllocsPerRun(100, func() {
			q.Reset()
			q.NoProg = false
			if q.Proto == TCP {
				v.TCPListener(q)
				return
			}
			v.UDPEarly(q)
			v.UDPLookup(q)
			v.RouteInput(q)
			buf = v.McastSocks(q, buf[:0])
			v.McastEarly(q)
			v.UDPError(q)
		})
		require.Zero(t, n, "%+v", c)
	}
}
