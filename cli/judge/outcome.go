package judge

import (
	"fmt"
	"strings"

	"edemux/dataplane/mib"
)

// How says in which way a socket was seen to get a packet.
type How uint8

const (
	Data    How = iota // payload was received
	Accept             // a listener accepted the connection
	Segment            // a connection counted a segment
	Error              // an ICMP error was reported
	Ended              // a connection came to its end
)

var howNames = [...]string{"data", "accept", "segment", "error", "end"}

// String is one word.
func (h How) String() string { return howNames[h] }

// Got is one thing that a socket was seen to get.
type Got struct {
	Socket string // of a connection: the socket that accepted or opened it
	How    How
}

// Reply is what the host was seen to send back or on.
type Reply uint8

const (
	SynAck      Reply = 1 << iota // to the sender of a TCP frame
	Reset                         // to the sender of a TCP frame
	Unreachable                   // ICMP port unreachable about the frame
	Forwarded                     // the packet itself, on its way
)

// String is what the host sent, in words.
func (r Reply) String() string {
	var all []string
	for i, name := range []string{"SYN-ACK", "RST", "port unreachable", "forwarded"} {
		if r>>i&1 != 0 {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// MIB is a change of the counters.
type MIB [mib.NCounters]int64

// String lists the counters that changed.
func (m *MIB) String() string {
	var b strings.Builder
	for c, n := range m {
		if n != 0 {
			fmt.Fprintf(&b, " %s%+d", mib.Counter(c), n)
		}
	}
	return strings.TrimSpace(b.String())
}

// Outcome is what the kernel did with one frame.
type Outcome struct {
	Got   []Got
	Reply Reply
	MIB   MIB
	// Reasons are the kernel's drop reasons that the frame, or what it
	// completed, met. nil when the kernel does not tell.
	Reasons []string
}

// names are the sockets that got something in one of these ways.
func (o *Outcome) names(how ...How) (all []string) {
	for _, g := range o.Got {
		for _, h := range how {
			if g.How == h {
				all = append(all, g.Socket)
			}
		}
	}
	return all
}

// String describes the outcome in one line.
func (o *Outcome) String() string {
	var b strings.Builder
	for _, g := range o.Got {
		fmt.Fprintf(&b, "%s gets %s, ", g.Socket, g.How)
	}
	if len(o.Got) == 0 {
		b.WriteString("no socket gets it, ")
	}
	fmt.Fprintf(&b, "the host sends %s", o.Reply)
	if len(o.Reasons) > 0 {
		fmt.Fprintf(&b, ", drop reason %s", strings.Join(o.Reasons, ", "))
	}
	return b.String()
}
