package demux

import (
	"testing"

	"edemux/flowtable"

	"github.com/stretchr/testify/require"
)

// TestJoinAgain follows ip_mc_source: sources add up and replace "any".
func TestJoinAgain(t *testing.T) {
	b := newTestBuilder()
	eth0, err := b.AddIface(IfaceSpec{Name: "eth0"})
	require.NoError(t, err)
	mustAdd(t, b, "m udp 0.0.0.0:5000")
	id, group := b.Lookup("m"), addr("239.1.1.1")
	x, y := addr("10.0.0.9"), addr("10.0.0.10")
	join := func(src ...flowtable.Addr) error { return b.Join(id, Join{Group: group, Ifindex: eth0, Include: src}) }
	gets := func(src string) bool {
		v := b.Publish()
		q := on(v, udpq(b, src+":1", "239.1.1.1:5000"), "eth0")
		member := v.McastMember(q.Dif, q)
		got := len(v.McastSocks(q, nil)) == 1
		require.Equal(t, member, got)
		return got
	}
	require.NoError(t, join())
	require.True(t, gets("10.0.0.9"))
	require.ErrorContains(t, join(), "address already in use")
	require.NoError(t, join(x))
	require.True(t, gets("10.0.0.9"))
	require.False(t, gets("10.0.0.10"))
	require.ErrorContains(t, join(x), "cannot assign requested address")
	require.ErrorContains(t, join(), "address already in use")
	require.NoError(t, join(y))
	require.True(t, gets("10.0.0.9"))
	require.True(t, gets("10.0.0.10"))
	b.Close(id)
	require.False(t, b.Publish().McastMember(eth0, &Query{Daddr: group, Saddr: x}))
}

// TestMcastOfAnotherFamily: an AF_INET6 socket needs a membership for IPv4
// groups, and none for broadcast.
func TestMcastOfAnotherFamily(t *testing.T) {
	b := newTestBuilder()
	eth0, err := b.AddIface(IfaceSpec{Name: "eth0"})
	require.NoError(t, err)
	mustAdd(t, b, "six udp [::]:5000")
	mustAdd(t, b, "member udp [::]:5001")
	require.NoError(t, b.Join(b.Lookup("member"), Join{Group: addr("239.1.1.1"), Ifindex: eth0}))
	v := b.Publish()
	for dst, want := range map[string]int{"239.1.1.1:5000": 0, "239.1.1.1:5001": 1, "255.255.255.255:5000": 1, "[ff05::1]:5000": 1} {
		src := "10.0.0.9:1"
		if dst[0] == '[' {
			src = "[2001:db8::9]:1"
		}
		require.Len(t, v.McastSocks(on(v, udpq(b, src, dst), "eth0"), nil), want, dst)
	}
}
