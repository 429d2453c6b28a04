package demux

import (
	"net/netip"
	"strings"
	"testing"

	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

var testSecret = flowtable.Secret{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}

func ap(s string) netip.AddrPort {
	if s == "" {
		return netip.AddrPort{}
	}
	return netip.MustParseAddrPort(s)
}

func addr(s string) flowtable.Addr { return flowtable.AddrFrom(netip.MustParseAddr(s)) }

func newTestBuilder() *Builder { return NewBuilder(testSecret) }

// tcpq and udpq make queries from "src:port" and "dst:port".
func query(b *Builder, proto uint8, src, dst string) *Query {
	s, d := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
	return &Query{
		Saddr: flowtable.AddrFrom(s.Addr()), Daddr: flowtable.AddrFrom(d.Addr()), Sport: s.Port(), Dport: d.Port(),
		Dif: 1, Proto: proto, V6: d.Addr().Is6(), CPU: 0, Hasher: b.Hasher,
	}
}

func tcpq(b *Builder, src, dst string) *Query { return query(b, TCP, src, dst) }
func udpq(b *Builder, src, dst string) *Query { return query(b, UDP, src, dst) }

// spec reads "name proto addr:port [connect=..] [dev=..] [v6only|reuseport|reuseaddr|listen|...]".
func spec(s string) *Spec {
	f := strings.Fields(s)
	sp := &Spec{Name: f[0], Proto: UDP, IncomingCPU: -1}
	if f[1] == "tcp" {
		sp.Proto, sp.Listen = TCP, true
	}
	if f[2] != "-" {
		sp.Bind = ap(f[2])
	}
	for _, o := range f[3:] {
		k, val, _ := strings.Cut(o, "=")
		switch k {
		case "connect":
			sp.Connect = ap(val)
		case "laddr":
			sp.Laddr = netip.MustParseAddr(val)
		case "dev":
			sp.Dev = val
		case "v6only":
			sp.V6Only = true
		case "reuseport":
			sp.Reuseport = true
		case "reuseaddr":
			sp.Reuseaddr = true
		case "nolisten":
			sp.Listen = false
		case "cpu":
			sp.IncomingCPU = int32(val[0] - '0')
		case "uid":
			sp.UID = uint32(val[0] - '0')
		case "nocheck":
			sp.NoCheck6Rx = true
		default:
			panic("option " + k)
		}
	}
	return sp
}

func mustAdd(t testing.TB, b *Builder, s string) SockID {
	t.Helper()
	id, err := b.Add(spec(s))
	require.NoError(t, err, s)
	return id
}
