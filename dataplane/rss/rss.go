// Package rss computes in software what a NIC's receive side scaling computes:
// the Toeplitz hash of a frame's addresses and ports, and from it the queue.
//
// Job: give every frame of a capture the queue, and so the CPU, that a NIC
// with the same key would have chosen; let a client pick source ports whose
// answers come back on a wanted queue.
// Order: after packet.Parse, before a frame is handed to an lcore.
// Threads: a Hasher is immutable after New; any number of threads may use it.
// Ownership: a Hasher copies its key. Nothing is allocated after New.
// Counterpart: rte_softrss and rte_thash of DPDK; the definition is
// Microsoft's "RSS Hashing Functions".
package rss

import (
	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// Positions in the hash input, in bytes. Input is source address, destination
// address, source port, destination port, each in network byte order.
const (
	sport4, dport4 = 8, 10
	sport6, dport6 = 32, 34
	inputMax       = 36 // IPv6 with ports
)

// retaSize is the number of entries of the redirection table of most NICs.
const retaSize = 128

// Hasher is a Toeplitz hash with its key expanded: one table row per input
// byte, because the hash is linear over GF(2) and each byte adds its own term
// whatever the other bytes are. IPv4 uses the rows of its first 12 bytes.
type Hasher struct {
	row [inputMax][256]uint32
}

// New expands key into 36 KiB of tables.
func New(key Key) *Hasher {
	h := new(Hasher)
	for i := range h.row {
		// w holds key bits 8i .. 8i+39: the five 32-bit windows a byte needs lie in it.
		var w uint64
		for _, b := range key[i : i+5] {
			w = w<<8 | uint64(b)
		}
		for bit := range 8 {
			term := uint32(w >> (8 - bit)) // input bit (from the left) takes key bits from 8i+bit
			step := 1 << (7 - bit)
			for v := step; v < 256; v += 2 * step {
				for n := range step {
					h.row[i][v+n] ^= term
				}
			}
		}
	}
	return h
}

// Hash returns the RSS hash of a parsed frame: over addresses and ports for
// unfragmented TCP and UDP, over the addresses alone for everything else with
// an IP header, 0 without one. An IPv6 fragment header counts as a fragment
// also when it is atomic: NICs look at the header, not at the offset.
func (h *Hasher) Hash(m *packet.Meta) uint32 {
	if !m.Has(packet.HasTuple) {
		return 0
	}
	if (m.Proto != 6 && m.Proto != 17) || !m.Has(packet.HasPorts|packet.HasProto) ||
		m.Flags&(packet.Fragment|packet.FragHdr) != 0 {
		return h.Addrs(m.Saddr, m.Daddr)
	}
	return h.Tuple(m.Saddr, m.Daddr, m.Sport, m.Dport)
}

// Addrs is the 2-tuple hash. Both addresses are of one family.
func (h *Hasher) Addrs(saddr, daddr flowtable.Addr) uint32 {
	if daddr.Is4() && saddr.Is4() {
		return h.word(0, saddr.As4()) ^ h.word(4, daddr.As4())
	}
	return h.addr6(0, saddr) ^ h.addr6(16, daddr)
}

// Tuple is the 4-tuple hash, in the packet's orientation, ports in host order.
func (h *Hasher) Tuple(saddr, daddr flowtable.Addr, sport, dport uint16) uint32 {
	return h.Base(saddr, daddr, sport) ^ h.PortTerm(dport, daddr.Is4())
}

// Base is the 4-tuple hash with destination port 0. As the hash is linear,
//
//	Tuple(saddr, daddr, sport, dport) = Base(saddr, daddr, sport) ^ PortTerm(dport)
//
// so a search for a local port whose incoming packets land on a wanted queue
// hashes the addresses once. saddr and sport are the peer's.
func (h *Hasher) Base(saddr, daddr flowtable.Addr, sport uint16) uint32 {
	if daddr.Is4() && saddr.Is4() {
		return h.Addrs(saddr, daddr) ^ h.port(sport4, sport)
	}
	return h.Addrs(saddr, daddr) ^ h.port(sport6, sport)
}

// PortTerm is what a destination port (host order) adds to the hash of an IPv4
// or an IPv6 tuple.
func (h *Hasher) PortTerm(dport uint16, v4 bool) uint32 {
	if v4 {
		return h.port(dport4, dport)
	}
	return h.port(dport6, dport)
}

// Queue maps a hash to one of queues receive queues as NICs do by default: the
// low 7 bits choose one of 128 table entries, filled with the queues in turn.
// 0 and 1 queues give queue 0; of more than 128 only the first 128 are used.
func Queue(hash uint32, queues uint16) uint16 {
	if queues <= 1 {
		return 0
	}
	return uint16(hash%retaSize) % queues
}

func (h *Hasher) port(at int, p uint16) uint32 {
	return h.row[at][p>>8] ^ h.row[at+1][p&0xff]
}

func (h *Hasher) word(at int, w uint32) uint32 {
	return h.row[at][w>>24] ^ h.row[at+1][w>>16&0xff] ^ h.row[at+2][w>>8&0xff] ^ h.row[at+3][w&0xff]
}

func (h *Hasher) addr6(at int, a flowtable.Addr) uint32 {
	return h.word(at, uint32(a.Hi>>32)) ^ h.word(at+4, uint32(a.Hi)) ^
		h.word(at+8, uint32(a.Lo>>32)) ^ h.word(at+12, uint32(a.Lo))
}
