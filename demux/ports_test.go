package demux

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"

	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

func portRange(b *Builder, low, high uint16, reserved ...uint16) {
	s := DefaultSysctl()
	s.PortLow, s.PortHigh = low, high
	if reserved != nil {
		s.Reserved = new([1024]uint64)
		for _, p := range reserved {
			s.Reserved[p>>6] |= 1 << (p & 63)
		}
	}
	b.SetSysctl(0, s)
}

// TestBindPortZero: every port of the range but the reserved ones, then none.
func TestBindPortZero(t *testing.T) {
	for _, proto := range []string{"udp", "tcp"} {
		for _, opt := range []string{"", " reuseaddr"} {
			b := newTestBuilder()
			portRange(b, 40000, 40007, 40003)
			seen := map[uint16]bool{}
			for i := range 7 {
				id := mustAdd(t, b, fmt.Sprintf("s%d %s 127.0.0.1:0%s", i, proto, opt))
				p := b.socks.at(id).Lport
				if opt == "" || proto == "tcp" {
					require.False(t, seen[p])
				}
				require.True(t, p >= 40000 && p <= 40007 && p != 40003)
				seen[p] = true
			}
			_, err := b.Add(spec("more " + proto + " 127.0.0.1:0" + opt))
			if proto == "udp" && opt != "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, syscall.EADDRINUSE)
			require.ErrorContains(t, err, "no port is free")
			mustAdd(t, b, "other "+proto+" 127.0.0.2:0")
		}
	}
	b := newTestBuilder()
	portRange(b, 2, 1)
	_, err := b.Add(spec("x udp 127.0.0.1:0"))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
}

// TestParity: connect prefers the parity of the first port, bind the other.
func TestParity(t *testing.T) {
	b := newTestBuilder()
	for i := range 50 {
		bound := mustAdd(t, b, fmt.Sprintf("b%d tcp 127.0.0.1:0", i))
		require.Equal(t, uint16(1), b.socks.at(bound).Lport&1)
		sp := &Spec{Name: fmt.Sprintf("c%d", i), Proto: TCP, IncomingCPU: -1, Connect: ap("10.0.0.9:443"), Laddr: netip.MustParseAddr("10.0.0.1")}
		id, err := b.Add(sp)
		require.NoError(t, err)
		require.Zero(t, b.socks.at(id).Lport&1)
	}
	same := func() (ports []uint16) {
		b := newTestBuilder()
		for i := range 5 {
			ports = append(ports, b.socks.at(mustAdd(t, b, fmt.Sprintf("b%d udp 127.0.0.1:0", i))).Lport)
		}
		return ports
	}
	require.Equal(t, same(), same(), "the secret decides")
}

// TestPortShare is tcp_port_share.c: auto-bound connections share a port for
// different remotes; an explicit bind blocks it until it is closed.
func TestPortShare(t *testing.T) {
	b := newTestBuilder()
	portRange(b, 40000, 40000)
	connect := func(name, local, remote string) error {
		_, err := b.Add(&Spec{Name: name, Proto: TCP, IncomingCPU: -1, Connect: ap(remote), Laddr: netip.MustParseAddr(local)})
		return err
	}
	require.NoError(t, connect("c1", "127.1.1.1", "127.9.9.9:1"))
	require.ErrorIs(t, connect("again", "127.1.1.1", "127.9.9.9:1"), syscall.EADDRNOTAVAIL)
	require.NoError(t, connect("c3", "127.1.1.1", "127.9.9.9:2"))
	b.Close(b.Lookup("c3"))
	mustAdd(t, b, "pb tcp 127.2.2.2:40000 nolisten")
	require.ErrorIs(t, connect("c2", "127.3.3.3", "127.9.9.9:1"), syscall.EADDRNOTAVAIL)
	b.Close(b.Lookup("pb"))
	require.NoError(t, connect("c2", "127.3.3.3", "127.9.9.9:1"))
	ops := b.TakeFlowOps()
	require.Len(t, ops, 4)
	require.Equal(t, uint8(TCP), ops[0].Proto)
	require.Equal(t, flowtable.Key{Laddr: addr("127.1.1.1"), Faddr: addr("127.9.9.9"), Lport: 40000, Fport: 2}, ops[2].Key)

	// UDP binds first, to the wildcard.
	id, err := b.Add(&Spec{Name: "u", Proto: UDP, IncomingCPU: -1, Connect: ap("10.0.0.9:53"), Laddr: netip.MustParseAddr("10.0.0.1")})
	require.NoError(t, err)
	require.Equal(t, uint16(40000), b.socks.at(id).Lport)
	require.Equal(t, addr("10.0.0.1"), b.socks.at(id).Laddr)
}
