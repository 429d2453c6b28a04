package demux

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookupOrder(t *testing.T) {
	b := newTestBuilder()
	wild := mustAdd(t, b, "wild tcp 0.0.0.0:80")
	exact := mustAdd(t, b, "exact tcp 10.0.0.1:81")
	dns := mustAdd(t, b, "dns udp [::]:53")
	conn := mustAdd(t, b, "conn udp 10.0.0.1:54 connect=10.0.0.9:9000")
	v := b.Publish()
	require.Equal(t, Result{Sock: wild, Path: PathListener}, v.TCPListener(tcpq(b, "10.0.0.9:5", "10.0.0.1:80")))
	require.Equal(t, Result{Sock: exact, Path: PathListener}, v.TCPListener(tcpq(b, "10.0.0.9:5", "10.0.0.1:81")))
	require.Equal(t, Result{}, v.TCPListener(tcpq(b, "[2001:db8::9]:5", "[2001:db8::1]:80")))
	require.Equal(t, Result{Sock: dns, Path: PathListener}, v.UDPLookup(udpq(b, "10.0.0.9:5", "10.0.0.1:53")))
	require.Equal(t, Result{Sock: dns, Path: PathListener}, v.UDPLookup(udpq(b, "[2001:db8::9]:5", "[2001:db8::1]:53")))
	require.Equal(t, Result{Sock: conn, Path: PathEstablished}, v.UDPLookup(udpq(b, "10.0.0.9:9000", "10.0.0.1:54")))
	require.Equal(t, conn, v.UDPEarly(udpq(b, "10.0.0.9:9000", "10.0.0.1:54")))
	require.Equal(t, Result{}, v.UDPLookup(udpq(b, "10.0.0.9:9001", "10.0.0.1:54")))
	require.Len(t, b.TakeFlowOps(), 1)
	b.Close(conn)
	require.Equal(t, Result{}, b.Publish().UDPLookup(udpq(b, "10.0.0.9:9000", "10.0.0.1:54")))
	require.Equal(t, Result{Sock: conn, Path: PathEstablished}, v.UDPLookup(udpq(b, "10.0.0.9:9000", "10.0.0.1:54")))
}
