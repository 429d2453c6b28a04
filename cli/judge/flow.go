package judge

import (
	"net/netip"

	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// flowKey names a conversation; mapped addresses count as IPv4.
type flowKey struct{ remote, local netip.AddrPort }

func newFlowKey(remote, local netip.AddrPort) flowKey {
	return flowKey{unmapped(remote), unmapped(local)}
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// keyOfMeta is the conversation of a frame that comes in.
func keyOfMeta(m *packet.Meta) flowKey {
	return newFlowKey(addrPort(m.Saddr, m.Sport), addrPort(m.Daddr, m.Dport))
}

func addrPort(a flowtable.Addr, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(a.Netip(), port)
}

// String is the direction and the ends as a capture shows them.
func (k flowKey) String() string { return k.remote.String() + " > " + k.local.String() }
