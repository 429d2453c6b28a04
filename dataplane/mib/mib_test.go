package mib

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReasonsHaveNameAndHint(t *testing.T) {
	seen := map[string]bool{}
	for i, row := range reasons {
		assert.Equal(t, Reason(i), row.id, "row %d out of order", i)
		if row.id == NotDropped {
			continue
		}
		r := row.id
		assert.NotEmpty(t, r.String())
		assert.Equal(t, strings.ToUpper(r.String()), r.String())
		assert.False(t, seen[r.String()], "%s twice", r)
		seen[r.String()] = true
		assert.True(t, strings.HasSuffix(r.Hint(), "."), "%s: hint is a sentence", r)
		assert.Less(t, len(r.Hint()), 140, "%s", r)
	}
}

func TestCounterNames(t *testing.T) {
	groups := []string{"IpExt", "Ip6", "Ip", "Icmp6", "Icmp", "TcpExt", "Tcp", "Udp6", "Udp"}
	seen := map[string]bool{}
	for c := range NCounters {
		n := c.String()
		assert.False(t, seen[n], "%s twice", n)
		seen[n] = true
		ok := false
		for _, g := range groups {
			ok = ok || strings.HasPrefix(n, g) && len(n) > len(g)
		}
		assert.True(t, ok, "%s belongs to no group", n)
	}
	for c, want := range map[Counter]string{
		IpInReceives: "IpInReceives", UdpNoPorts: "UdpNoPorts", TcpExtListenDrops: "TcpExtListenDrops",
		Ip6InReceives: "Ip6InReceives", IpExtInCEPkts: "IpExtInCEPkts", Udp6IgnoredMulti: "Udp6IgnoredMulti",
		TcpExtTCPMigrateReqFailure: "TcpExtTCPMigrateReqFailure", Icmp6InErrors: "Icmp6InErrors",
	} {
		assert.Equal(t, want, c.String())
	}
}

func TestWords(t *testing.T) {
	assert.Equal(t, "deliver drop hold forward egress punt", words(func(i int) string { return Verdict(i).String() }, int(NVerdicts)))
	for p := NotPunted + 1; p < NPunts; p++ {
		assert.NotEmpty(t, p.String())
	}
	assert.Equal(t, "", NotPunted.String())
	assert.Equal(t, "LLC", LLC.String())
	assert.Equal(t, "LINKTYPE", LinkType.String())
}

func words(f func(int) string, n int) string {
	var w []string
	for i := range n {
		w = append(w, f(i))
	}
	return strings.Join(w, " ")
}

func TestReasonCounters(t *testing.T) {
	for _, c := range []struct {
		r          Reason
		ver, proto uint8
		want       []Counter
	}{
		{IPCsum, 4, 17, []Counter{IpExtInCsumErrors, IpInHdrErrors}},
		{IPInHdr, 4, 6, []Counter{IpInHdrErrors}},
		{IPInHdr, 6, 0, []Counter{Ip6InHdrErrors}},
		{PktTooSmall, 4, 0, []Counter{IpExtInTruncatedPkts}},
		{PktTooSmall, 6, 0, []Counter{Ip6InTruncatedPkts}},
		{PktTooSmall, 4, 17, []Counter{UdpInErrors}},
		{PktTooSmall, 6, 6, []Counter{TcpInErrs}},
		{NoSocket, 4, 17, []Counter{UdpNoPorts}},
		{NoSocket, 6, 17, []Counter{Udp6NoPorts}},
		{NoSocket, 4, 6, nil},
		{UDPCsum, 6, 17, []Counter{Udp6InCsumErrors, Udp6InErrors}},
		{TCPCsum, 6, 6, []Counter{TcpInCsumErrors, TcpInErrs}},
		{SocketRcvBuff, 4, 17, []Counter{UdpRcvbufErrors, UdpInErrors}},
		{SocketRcvBuff, 4, 6, nil},
		{ReqQFull, 4, 6, []Counter{TcpExtTCPReqQFullDrop, TcpExtListenDrops}},
		{OtherHost, 0, 0, nil},
		{NoVRF, 4, 17, nil},
		{DupFrag, 6, 17, nil},
	} {
		assert.Equal(t, c.want, ReasonCounters(c.r, c.ver, c.proto), "%s v%d proto %d", c.r, c.ver, c.proto)
	}
}

func TestReasonCountersNeverPanics(t *testing.T) {
	for r := range NReasons {
		for _, v := range []uint8{0, 4, 6, 255} {
			for p := range 256 {
				for _, c := range ReasonCounters(r, v, uint8(p)) {
					assert.Less(t, c, NCounters)
				}
			}
		}
	}
}

func TestReasonCountersAllocatesNothing(t *testing.T) {
	var sum int
	n := testing.AllocsPerRun(100, func() { sum += len(ReasonCounters(UDPCsum, 6, 17)) })
	assert.Zero(t, n)
}
