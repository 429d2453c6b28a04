package judge

import "testing"

func TestFirst(t *testing.T) {
	needRoot(t)
	n := twoPorts()
	agree(t, &Scenario{Name: "plain", Net: n, Steps: []Step{
		open(udp("a", "10.0.0.1:53")), open(udp("any", "0.0.0.0:53")), open(udp("any6", "[::]:54")),
		send(0, 0, datagram(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.1:53"), 1), "to a"),
		send(1, 1, datagram(&n, 1, ap("10.0.0.9:1000"), ap("10.0.0.2:53"), 1), "to any"),
		send(0, 0, datagram(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.2:54"), 1), "to any6"),
		send(0, 0, datagram(&n, 0, ap("[2001:db8::9]:1000"), ap("[2001:db8::1]:54"), 1), "to any6"),
		send(0, 0, datagram(&n, 0, ap("[2001:db8::9]:1000"), ap("[2001:db8::1]:55"), 1), "to none"),
		send(0, 0, datagram(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.7:54"), 1), "not local"),
		open(tcp("l", "0.0.0.0:80")),
		send(0, 0, segment(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.2:80"), 2, 100, 0), "SYN"),
		send(0, 0, segment(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.2:80"), 16, 101, 7777), "ACK"),
		send(0, 0, segment(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.2:80"), 24, 101, 7777, 1, 2, 3), "data"),
		send(0, 0, segment(&n, 0, ap("10.0.0.9:1000"), ap("10.0.0.2:81"), 2, 100, 0), "SYN to none"),
	}})
}
