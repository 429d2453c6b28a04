package demux

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// bindWildcard is the table of the kernel's bind_wildcard.c: sockets 0 and 1
// from the row, then 0.0.0.0, 127.0.0.1, ::, ::1, ::ffff:0.0.0.0 and
// ::ffff:127.0.0.1, all on one port; o is granted, x is EADDRINUSE.
const bindWildcard = `
v4 lo | v4 any | xxxxoxx | oxxxoxx
v4 any | v6 any | xxxxoxx | oxxxxxx
v4 any | v6 any v6only | oxxxxxx | oxxxxxx
v4 any | v6 lo | oxxxxxx | oxxxxxx
v4 any | mapped any | xxxxoxx | oxxxoxx
v4 any | mapped lo | xxxxoxx | oxxxoxx
v4 lo | v6 any | xxxxoxx | oxxxxxx
v4 lo | v6 any v6only | oxxxxxx | oxxxxxx
v4 lo | v6 lo | oxxxxxx | oxxxxxx
v4 lo | mapped any | xxxxoxx | oxxxoxx
v4 lo | mapped lo | xxxxoxx | oxxxoxx
v6 any | v4 any | xxxxxxx | oxxxxxx
v6 any | v4 lo | xxxxxxx | oxxxxxx
v6 any v6only | v4 any | oxxxxxx | oxxxxxx
v6 any v6only | v4 lo | oxxxxxx | oxxxxxx
v6 lo | v4 any | oxxxxxx | oxxxxxx
v6 lo | v4 lo | oxxxxxx | oxxxxxx
mapped any | v4 any | xxxxoxx | oxxxoxx
mapped any | v4 lo | xxxxoxx | oxxxoxx
mapped lo | v4 any | xxxxoxx | oxxxoxx
mapped lo | v4 lo | xxxxoxx | oxxxoxx
v6 any | v6 any | xxxxxxx | oxxxxxx
v6 any | v6 any v6only | xxxxxxx | oxxxxxx
v6 any | v6 lo | xxxxxxx | oxxxxxx
v6 any v6only | v6 any | xoxxxxx | oxxxxxx
v6 any v6only | v6 any v6only | xoxxxxx | ooxxxxx
v6 any v6only | v6 lo | xoxxxxx | ooxxxxx
v6 any | mapped any | xxxxxxx | oxxxxxx
v6 any | mapped lo | xxxxxxx | oxxxxxx
v6 any v6only | mapped any | oxxxxxx | oxxxxxx
v6 any v6only | mapped lo | oxxxxxx | oxxxxxx
v6 lo | v6 any | xoxxxxx | oxxxxxx
v6 lo | v6 any v6only | xoxxxxx | ooxxxxx
v6 lo | mapped any | oxxxxxx | oxxxxxx
v6 lo | mapped lo | oxxxxxx | oxxxxxx
mapped any | v6 any | xxxxoxx | oxxxxxx
mapped lo | v6 any | xxxxoxx | oxxxxxx
mapped any | v6 any v6only | oxxxxxx | oxxxxxx
mapped lo | v6 any v6only | oxxxxxx | oxxxxxx
mapped any | v6 lo | oxxxxxx | oxxxxxx
mapped lo | v6 lo | oxxxxxx | oxxxxxx
mapped any | mapped lo | xxxxoxx | oxxxoxx
mapped lo | mapped any | xxxxoxx | oxxxoxx`

var wildAddr = map[string]string{
	"v4 any": "0.0.0.0", "v4 lo": "127.0.0.1", "v6 any": "::", "v6 any v6only": "::", "v6 lo": "::1",
	"mapped any": "::ffff:0.0.0.0", "mapped lo": "::ffff:127.0.0.1",
}

func TestBindWildcard(t *testing.T) {
	for _, line := range strings.Split(strings.TrimSpace(bindWildcard), "\n") {
		f := strings.Split(line, " | ")
		for _, proto := range []uint8{TCP, UDP} {
			for _, option := range []string{"plain", "reuseaddr", "reuseport"} {
				want := f[2]
				if option != "plain" {
					want = f[3]
				}
				name := fmt.Sprintf("%s %s/%s/%s", protoName(proto), f[0], f[1], option)
				require.Equal(t, want, bindAll(t, proto, f[:2], option), name)
			}
		}
	}
}

// bindAll binds the eight sockets and returns the outcomes of 1 to 7.
func bindAll(t *testing.T, proto uint8, first []string, option string) (got string) {
	b := newTestBuilder()
	kinds := append(append([]string{}, first...), "v4 any", "v4 lo", "v6 any", "v6 lo", "mapped any", "mapped lo")
	for i, kind := range kinds {
		sp := &Spec{Name: fmt.Sprint(i), Proto: proto, IncomingCPU: -1, V6Only: strings.HasSuffix(kind, "v6only"),
			Bind: netip.AddrPortFrom(netip.MustParseAddr(wildAddr[kind]), 8000)}
		if i < 2 {
			sp.Reuseaddr, sp.Reuseport = option == "reuseaddr", option == "reuseport"
		}
		_, err := b.Add(sp)
		switch {
		case err == nil:
			got += "o"
		case errors.Is(err, syscall.EADDRINUSE):
			got += "x"
		default:
			t.Fatal(err)
		}
	}
	require.Equal(t, byte('o'), got[0])
	return got[1:]
}

// TestBindActions are sequences of steps with the outcome of each: "" is
// success, else the error's text.
func TestBindActions(t *testing.T) {
	const inUse = "address already in use"
	for _, c := range []struct {
		name  string
		steps [][2]string
	}{
		{"a second socket", [][2]string{{"a tcp 10.0.0.1:80", ""}, {"b tcp 10.0.0.1:80", "socket b: bind tcp 10.0.0.1:80: " + inUse + " (socket a)"}}},
		{"after close", [][2]string{{"a udp 10.0.0.1:53", ""}, {"close a", ""}, {"a udp 10.0.0.1:53", ""}}},
		{"name taken", [][2]string{{"a udp 10.0.0.1:53", ""}, {"a udp 10.0.0.1:54", "the name is taken"}}},
		{"reuseport, another user", [][2]string{{"a udp 10.0.0.1:53 reuseport uid=1", ""}, {"b udp 10.0.0.1:53 reuseport uid=2", inUse}, {"c udp 10.0.0.1:53 reuseport uid=1", ""}}},
		{"tcp reuseport, another user", [][2]string{{"a tcp 10.0.0.1:53 reuseport uid=1", ""}, {"b tcp 10.0.0.1:53 reuseport uid=2", inUse}, {"c tcp 10.0.0.1:53 reuseport uid=1", ""}}},
		{"one without reuseport", [][2]string{{"a udp 10.0.0.1:53", ""}, {"b udp 10.0.0.1:53 reuseport", inUse}}},
		{"different devices", [][2]string{{"a tcp 0.0.0.0:80 dev=eth0", ""}, {"b tcp 0.0.0.0:80 dev=eth1", ""}, {"c tcp 0.0.0.0:80", inUse}}},
		{"udp in a VRF and unbound", [][2]string{{"a udp 0.0.0.0:53 dev=red", ""}, {"b udp 0.0.0.0:53", inUse}}},
		{"tcp in a VRF and unbound", [][2]string{{"a tcp 0.0.0.0:53 dev=red", ""}, {"b tcp 0.0.0.0:53", ""}, {"c tcp 0.0.0.0:53 dev=eth2", ""}}},
		{"reuseaddr until one listens", [][2]string{{"a tcp 10.0.0.1:80 reuseaddr nolisten", ""}, {"b tcp 10.0.0.1:80 reuseaddr nolisten", ""}, {"listen a", ""}, {"listen b", "socket b: listen: " + inUse + " (socket a)"}, {"c tcp 10.0.0.1:80 reuseaddr", inUse}}},
		{"udp reuseaddr", [][2]string{{"a udp 10.0.0.1:80 reuseaddr", ""}, {"b udp 10.0.0.1:80 reuseaddr", ""}}},
		{"listen twice", [][2]string{{"a tcp 10.0.0.1:80", ""}, {"listen a", ""}}},
		{"listen on udp", [][2]string{{"a udp 10.0.0.1:80", ""}, {"listen a", "operation not supported"}}},
		{"device that is not there", [][2]string{{"a udp 10.0.0.1:80 dev=eth9", "socket a: bind to device eth9: no such device"}, {"b udp 10.0.0.1:80 dev=default", "no such device"}}},
		{"not a local address", [][2]string{{"a udp 192.0.2.1:80", "socket a: bind udp 192.0.2.1:80: cannot assign requested address (not local in default)"}, {"b udp 192.0.2.1:80 dev=red", ""}, {"c udp 127.0.0.5:80", ""}, {"d udp 224.0.0.5:80", ""}, {"e udp 255.255.255.255:80", ""}, {"f udp 10.255.255.255:81", ""}}},
		{"v6", [][2]string{{"a udp [fe80::1]:80", "invalid argument (a link-local address needs a device)"}, {"b udp [fe80::1]:80 dev=red", ""}, {"c tcp [ff02::1]:80", "invalid argument"}, {"d udp [::ffff:10.0.0.1]:80 v6only", "invalid argument"}, {"e udp [2001:db8::1]:80", ""}, {"g udp [::1]:80 dev=eth0", "cannot assign requested address (not an address of eth0)"}, {"h udp [::1]:80", ""}, {"f udp [2001:db9::1]:80", "cannot assign"}}},
		{"connect", [][2]string{{"a udp 10.0.0.1:80 connect=10.0.0.9:9", ""}, {"b udp 10.0.0.1:81 connect=[2001:db8::9]:9", "another family"}, {"c udp [2001:db8::1]:82 connect=[::ffff:10.0.0.9]:9", "network is unreachable"}, {"d udp 0.0.0.0:83 connect=10.0.0.9:9", "network is unreachable (no local address of that family)"}, {"e udp 0.0.0.0:83 connect=10.0.0.9:9 laddr=10.0.0.1", ""}, {"f udp [::ffff:10.0.0.1]:84 connect=[2001:db8::9]:9", "address family not supported"}, {"g udp 127.0.0.1:85 connect=10.0.0.9:9", "invalid argument (bound to a loopback address)"}, {"h udp 127.0.0.1:86 connect=127.0.0.9:9", ""}}},
		{"tcp connect, same four-tuple", [][2]string{{"a tcp 10.0.0.1:80 reuseaddr nolisten connect=10.0.0.9:9", ""}, {"b tcp 10.0.0.1:80 reuseaddr nolisten connect=10.0.0.9:9", "socket b: connect 10.0.0.9:9: cannot assign requested address (socket a)"}, {"c tcp 10.0.0.1:80 reuseaddr nolisten connect=10.0.0.9:10", ""}, {"listen c", "invalid argument (connected)"}, {"d tcp 10.0.0.1:80 reuseaddr nolisten dev=eth0 connect=10.0.0.9:9", "cannot assign"}}},
	} {
		b := newTestBuilder()
		red, err := b.AddVRF("red")
		require.NoError(t, err)
		for i, vrf := range []uint16{0, 0, red} {
			_, err := b.AddIface(IfaceSpec{Name: fmt.Sprintf("eth%d", i), Port: uint16(i), VRF: vrf})
			require.NoError(t, err)
		}
		b.SetLocal(0, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("2001:db8::/64")})
		b.SetBroadcast(0, []netip.Addr{netip.MustParseAddr("10.255.255.255")})
		for _, s := range c.steps {
			err := act(b, s[0])
			if s[1] == "" {
				require.NoError(t, err, "%s: %s", c.name, s[0])
				continue
			}
			require.ErrorContains(t, err, s[1], "%s: %s", c.name, s[0])
		}
	}
}

// act runs one step: "close a", "listen a", or the opening of a socket.
func act(b *Builder, step string) error {
	f := strings.Fields(step)
	switch f[0] {
	case "close":
		b.Close(b.Lookup(f[1]))
		return nil
	case "listen":
		return b.Listen(b.Lookup(f[1]), 128)
	}
	_, err := b.Add(spec(step))
	return err
}

// TestManySocketsOnAPort: beyond ten sockets on a port a specific address is
// compared with its own chain and the wildcard's, a wildcard with every socket.
func TestManySocketsOnAPort(t *testing.T) {
	b := newTestBuilder()
	for i := range 11 {
		mustAdd(t, b, fmt.Sprintf("s%d udp 10.0.0.%d:53", i, i+1))
	}
	_, err := b.Add(spec("w udp 0.0.0.0:53"))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	_, err = b.Add(spec("again udp 10.0.0.3:53"))
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	for i := range 11 {
		b.Close(b.Lookup(fmt.Sprintf("s%d", i)))
		mustAdd(t, b, fmt.Sprintf("r%d udp 10.0.0.%d:53 reuseaddr", i, i+1))
	}
	mustAdd(t, b, "w udp 0.0.0.0:53 reuseaddr")
	_, err = b.Add(spec("other udp 10.0.0.99:53"))
	require.ErrorIs(t, err, syscall.EADDRINUSE, "the wildcard socket is in the way")
}
