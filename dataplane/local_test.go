package dataplane

import (
	"net/netip"
	"testing"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
	"edemux/demux"

	"github.com/stretchr/testify/assert"
)

// step is one frame of a conversation between a client C and a server S.
type step struct {
	fromC  bool
	flags  uint8 // 0: UDP
	egress bool
}

func TestLocalAuto(t *testing.T) {
	for name, x := range map[string]struct {
		steps []step
		cport uint16
		sport uint16
	}{
		"destination of the first frame":      {[]step{{true, 0, false}, {false, 0, true}, {true, 0, false}}, 4000, 5000},
		"a SYN goes to the local side":        {[]step{{true, packet.SYN, false}, {false, packet.SYN | packet.ACK, true}}, 4000, 80},
		"the source of a SYN-ACK":             {[]step{{false, packet.SYN | packet.ACK, true}, {true, packet.ACK, false}}, 4000, 5000},
		"mid-stream: the port below 1024":     {[]step{{false, packet.ACK, true}, {true, packet.ACK, false}}, 4000, 80},
		"mid-stream: both high":               {[]step{{false, packet.ACK, false}, {true, packet.ACK, true}}, 4000, 5000},
		"mid-stream: both low":                {[]step{{false, packet.ACK, false}, {true, packet.ACK, true}}, 700, 80},
		"UDP does not look at the low port":   {[]step{{false, 0, false}, {true, 0, true}}, 4000, 53},
		"mid-stream to the low port is local": {[]step{{true, packet.ACK, false}, {false, packet.ACK, true}}, 4000, 80},
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLocalAuto(100)
			for i, s := range x.steps {
				a, b, sp, dp := client4, server4, x.cport, x.sport
				if !s.fromC {
					a, b, sp, dp = b, a, dp, sp
				}
				p := packettest.New().Eth(clientMAC, serverMAC).IPv4(a, b)
				if s.flags == 0 {
					p.UDP(sp, dp)
				} else {
					p.TCP(sp, dp, s.flags)
				}
				assert.Equal(t, s.egress, l.Outgoing(metaOf(p)), "frame %d", i+1)
			}
		})
	}
}

func metaOf(b *packettest.Builder) *packet.Meta {
	var m packet.Meta
	f := b.Frame()
	packet.Parse(&f, &packet.Options{}, &m)
	return &m
}

func TestLocalAutoFragmentsFollowTheirFlow(t *testing.T) {
	l := NewLocalAuto(100)
	query := packettest.New().IPv4(client4, server4).UDP(4000, 53)
	assert.False(t, l.Outgoing(metaOf(query)))
	fs := packettest.New().Eth(serverMAC, clientMAC).IPv4(server4, client4).UDP(53, 4000).PayloadLen(2000).Fragments(1000, 1)
	for _, f := range fs {
		var m packet.Meta
		packet.Parse(&f, &packet.Options{}, &m)
		assert.True(t, l.Outgoing(&m))
	}
}

func TestLocalAutoIsBounded(t *testing.T) {
	l := NewLocalAuto(10)
	for i := range 100 {
		p := packettest.New().IPv4(client4, server4).UDP(uint16(1000+i), 53)
		assert.False(t, l.Outgoing(metaOf(p)))
	}
	assert.Equal(t, 10, l.Conversations())
	assert.Positive(t, l.Forgotten)
}

func TestACookedCaptureSaysItself(t *testing.T) {
	v := newEnv(t, envOptions{auto: NewLocalAuto(100)})
	s := udpSock("dns", "0.0.0.0:53")
	u := v.add(s)
	out := func(a, b netip.Addr, sp, dp uint16, typ packet.PktType) Decision {
		return v.send(packettest.New().SLL(typ, 1, clientMAC).IPv4(a, b).UDP(sp, dp))
	}
	// The host asks and is answered: the first frame is its own.
	assert.Equal(t, mib.Egress, out(client4, server4, 4000, 53, packet.Outgoing).Verdict)
	want(t, out(server4, client4, 53, 4000, packet.Host), mib.Drop, mib.NoSocket, demux.PathNone, 0)
	want(t, out(client4, server4, 4000, 53, packet.Host), mib.Deliver, 0, demux.PathListener, u)
	// A frame of the same conversation without that knowledge follows it.
	plain := packettest.New().Eth(clientMAC, serverMAC).IPv4(server4, client4).UDP(53, 4000)
	assert.Equal(t, mib.Egress, v.send(plain).Verdict)
	v.conserved()
}
