package judge

import (
	"net/netip"
	"strings"
	"testing"

	"edemux/demux"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bindRows is the matrix of the kernel's selftest bind_wildcard: sockets 0 and
// 1, then whether sockets 1 to 7 can be bound (o) or not (x), without options
// and with SO_REUSEADDR or SO_REUSEPORT on 0 and 1. A + stands for IPV6_V6ONLY.
var bindRows = []struct{ zero, one, plain, reuse string }{
	{"127.0.0.1", "0.0.0.0", "xxxxoxx", "oxxxoxx"},
	{"0.0.0.0", "::", "xxxxoxx", "oxxxxxx"},
	{"0.0.0.0", "::+", "oxxxxxx", "oxxxxxx"},
	{"0.0.0.0", "::1", "oxxxxxx", "oxxxxxx"},
	{"0.0.0.0", "::ffff:0.0.0.0", "xxxxoxx", "oxxxoxx"},
	{"0.0.0.0", "::ffff:127.0.0.1", "xxxxoxx", "oxxxoxx"},
	{"127.0.0.1", "::", "xxxxoxx", "oxxxxxx"},
	{"127.0.0.1", "::+", "oxxxxxx", "oxxxxxx"},
	{"127.0.0.1", "::1", "oxxxxxx", "oxxxxxx"},
	{"127.0.0.1", "::ffff:0.0.0.0", "xxxxoxx", "oxxxoxx"},
	{"127.0.0.1", "::ffff:127.0.0.1", "xxxxoxx", "oxxxoxx"},
	{"::", "0.0.0.0", "xxxxxxx", "oxxxxxx"},
	{"::", "127.0.0.1", "xxxxxxx", "oxxxxxx"},
	{"::+", "0.0.0.0", "oxxxxxx", "oxxxxxx"},
	{"::+", "127.0.0.1", "oxxxxxx", "oxxxxxx"},
	{"::1", "0.0.0.0", "oxxxxxx", "oxxxxxx"},
	{"::1", "127.0.0.1", "oxxxxxx", "oxxxxxx"},
	{"::ffff:0.0.0.0", "0.0.0.0", "xxxxoxx", "oxxxoxx"},
	{"::ffff:0.0.0.0", "127.0.0.1", "xxxxoxx", "oxxxoxx"},
	{"::ffff:127.0.0.1", "0.0.0.0", "xxxxoxx", "oxxxoxx"},
	{"::ffff:127.0.0.1", "127.0.0.1", "xxxxoxx", "oxxxoxx"},
	{"::", "::", "xxxxxxx", "oxxxxxx"},
	{"::", "::+", "xxxxxxx", "oxxxxxx"},
	{"::", "::1", "xxxxxxx", "oxxxxxx"},
	{"::+", "::", "xoxxxxx", "oxxxxxx"},
	{"::+", "::+", "xoxxxxx", "ooxxxxx"},
	{"::+", "::1", "xoxxxxx", "ooxxxxx"},
	{"::", "::ffff:0.0.0.0", "xxxxxxx", "oxxxxxx"},
	{"::", "::ffff:127.0.0.1", "xxxxxxx", "oxxxxxx"},
	{"::+", "::ffff:0.0.0.0", "oxxxxxx", "oxxxxxx"},
	{"::+", "::ffff:127.0.0.1", "oxxxxxx", "oxxxxxx"},
	{"::1", "::", "xoxxxxx", "oxxxxxx"},
	{"::1", "::+", "xoxxxxx", "ooxxxxx"},
	{"::1", "::ffff:0.0.0.0", "oxxxxxx", "oxxxxxx"},
	{"::1", "::ffff:127.0.0.1", "oxxxxxx", "oxxxxxx"},
	{"::ffff:0.0.0.0", "::", "xxxxoxx", "oxxxxxx"},
	{"::ffff:127.0.0.1", "::", "xxxxoxx", "oxxxxxx"},
	{"::ffff:0.0.0.0", "::+", "oxxxxxx", "oxxxxxx"},
	{"::ffff:127.0.0.1", "::+", "oxxxxxx", "oxxxxxx"},
	{"::ffff:0.0.0.0", "::1", "oxxxxxx", "oxxxxxx"},
	{"::ffff:0.0.0.0", "::ffff:127.0.0.1", "xxxxoxx", "oxxxoxx"},
	{"::ffff:127.0.0.1", "::ffff:0.0.0.0", "xxxxoxx", "oxxxoxx"},
}

// bindRest are the addresses of sockets 2 to 7.
var bindRest = []string{"0.0.0.0", "127.0.0.1", "::", "::1", "::ffff:0.0.0.0", "::ffff:127.0.0.1"}

// TestFixedBind holds both sides to the matrix, and to each other for UDP, for
// which the selftest has no table.
func TestFixedBind(t *testing.T) {
	needRoot(t)
	n := twoPorts()
	require.NoError(t, OnThread(func() error {
		tr, err := NewTrial(&n)
		if err != nil {
			return err
		}
		defer tr.Close()
		port := uint16(10000)
		for _, row := range bindRows {
			for _, proto := range []uint8{demux.TCP, demux.UDP} {
				for _, option := range []func(*Socket){nil, reuseaddr, reuseport} {
					port++
					got, err := bindRow(t, tr, proto, port, option, append([]string{row.zero, row.one}, bindRest...))
					if err != nil {
						return err
					}
					want := row.plain
					if option != nil {
						want = row.reuse
					}
					if proto == demux.TCP {
						assert.Equal(t, want, got, "%s, %s", row.zero, row.one)
					}
				}
			}
		}
		return nil
	}))
}

// bindRow opens the sockets of a row and returns what the kernel said.
func bindRow(t *testing.T, tr *Trial, proto uint8, port uint16, option func(*Socket), addrs []string) (got string, err error) {
	var opened []string
	for i, a := range addrs {
		a, only := strings.CutSuffix(a, "+")
		s := sock(string(rune('a'+i)), proto, netip.AddrPortFrom(netip.MustParseAddr(a), port).String())
		s.Listen, s.V6Only = false, only
		if option != nil && i < 2 {
			option(s)
		}
		why, err := tr.Take(&Step{Open: s})
		if err != nil {
			return "", err
		}
		assert.Empty(t, why, "%v: %s", addrs, s)
		if tr.Refused == nil {
			opened = append(opened, s.Name)
		}
		if i > 0 {
			got += [2]string{"o", "x"}[b2i(tr.Refused != nil)]
		}
	}
	for _, name := range opened {
		if _, err := tr.Take(&Step{Close: name}); err != nil {
			return "", err
		}
	}
	return got, nil
}
