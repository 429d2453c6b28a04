package demux

import (
	"edemux/demux/cbpf"
	"edemux/flowtable"
)

// Query is one packet as lookups see it: saddr and sport are the remote.
// One per worker, reused: call Reset, then set the fields. Not safe for
// concurrent use. A copy has its own hash state.
type Query struct {
	Saddr, Daddr flowtable.Addr
	Sport, Dport uint16 // host order
	Dif, Sdif    uint32 // Iface.Dif, Iface.Sdif
	CPU          int32  // CPU that received the packet
	VRF          uint16 // index of the packet's VRF
	Proto        uint8  // TCP or UDP
	V6           bool   // an IPv6 packet, whatever its addresses look like
	ZeroCsum     bool   // UDP checksum field is 0 (IPv6 multicast asks)
	NoFlow       bool   // the four-tuple table was searched already and has nothing
	NoProg       bool   // no packet to run programs on: ICMP errors

	// Prog is what group programs see. Fill it when View.HasPrograms; nil
	// means that programs do not run.
	Prog *cbpf.Input

	Hasher *flowtable.Hasher // set once
	// Computed counts the distinct hashes computed since Reset; Saved those
	// that an eager group selection would have computed and nothing needed.
	Computed, Saved uint8

	have  uint8 // bits have*
	saved uint8 // the same bits: counted in Saved
	own   flowtable.Sum
	def   flowtable.Sum
	wild  flowtable.Sum
}

const (
	haveOwn  = 1 << iota // own: the packet's VRF
	haveDef              // def: VRF default
	haveWild             // wild: the packet's VRF, wildcard local address
)

// Reset forgets the packet's hashes and their counts. Fields set by the caller
// stay as they are.
func (q *Query) Reset() { q.Computed, q.Saved, q.have, q.saved = 0, 0, 0, 0 }

// SumIn is the hash of the packet's flow in VRF v, without the local port;
// computed at most once for the packet's own VRF and once for default.
func (q *Query) SumIn(v *VRF) flowtable.Sum {
	if v.Index == q.VRF {
		return q.ownSum(v)
	}
	if v.Index != 0 {
		q.Computed++
		return q.Hasher.Sum(v.Seed, q.Daddr, q.Saddr, q.Sport)
	}
	if q.have&haveDef == 0 {
		q.def = q.Hasher.Sum(v.Seed, q.Daddr, q.Saddr, q.Sport)
		q.have |= haveDef
		q.Computed++
	}
	return q.def
}

// SetSum hands in the packet's hash in its own VRF, computed ahead of time (the
// prefetch stage). It counts as computed.
func (q *Query) SetSum(s flowtable.Sum) {
	q.own = s
	if q.have&haveOwn == 0 {
		q.note(haveOwn)
	}
}

func (q *Query) ownSum(v *VRF) flowtable.Sum {
	if q.have&haveOwn == 0 {
		q.own = q.Hasher.Sum(v.Seed, q.Daddr, q.Saddr, q.Sport)
		q.note(haveOwn)
	}
	return q.own
}

// wildSum is the hash with the wildcard as local address: derived from the
// packet's own when that is at hand.
func (q *Query) wildSum(v *VRF) flowtable.Sum {
	if q.have&haveWild == 0 {
		if q.have&haveOwn != 0 {
			q.wild = q.Hasher.Wild(q.own, q.Daddr)
		} else {
			q.wild = q.Hasher.Sum(v.Seed, q.Daddr.Any(), q.Saddr, q.Sport)
		}
		q.note(haveWild)
	}
	return q.wild
}

// note records that hash bit is computed: it is not saved any more.
func (q *Query) note(bit uint8) {
	q.have |= bit
	q.Computed++
	if q.saved&bit != 0 {
		q.saved &^= bit
		q.Saved--
	}
}

// save records that an eager selection would have computed hash bit.
func (q *Query) save(bit uint8) {
	if (q.have|q.saved)&bit == 0 {
		q.saved |= bit
		q.Saved++
	}
}
