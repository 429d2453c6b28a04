package reasm

import (
	"math/bits"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/flowtable"
)

// Defaults of Linux: ipfrag_high_thresh and ip6frag_high_thresh, ipfrag_time,
// ip6frag_time, ipfrag_max_dist.
const (
	DefaultBytes = 4 << 20
	Timeout4     = 30e9 // ns
	Timeout6     = 60e9
	MaxDist      = 64
)

// Config sizes a Table.
type Config struct {
	Bytes int64  // most memory for fragments, per family as in Linux; 0: DefaultBytes
	Seed  uint64 // keys the hash that spreads the queues; no decision hangs on it
}

// Outcome is what became of a fragment.
type Outcome uint8

const (
	Held     Outcome = iota // kept for its datagram
	Complete                // its datagram is whole
	Dropped                 // for Reason
)

// Fragment is one fragment as the port brought it. Frame and Meta are read
// only, and only during Add.
type Fragment struct {
	Frame *packet.Frame
	Meta  *packet.Meta // has packet.Fragment, no Reason and no L4Reason
	Now   int64        // ns; the table's clock, never going back
	Dev   uint32       // interface it came on; counts for IPv6 link-local and multicast destinations
	VRF   uint16
}

// Result tells what became of a fragment and what to count beside it: Failed
// is IpReasmFails, TimedOut IpReasmTimeout, Overlaps IpExtReasmOverlaps. Older
// fragments discarded with it keep the verdict they got when they came.
type Result struct {
	Datagram []byte // Complete: IP header on, as far as the captures hold it without a gap
	WireLen  uint32 // Complete: whole length of the datagram
	Failed   uint32
	TimedOut uint32
	Overlaps uint32
	Outcome  Outcome
	Reason   mib.Reason
}

// Buffer is where a caller takes datagrams. One per lcore. Meta is prepared by
// Add for packet.ParseDatagram: what the first fragment's link layer said.
type Buffer struct {
	Meta  packet.Meta
	bytes []byte
}

// Stats says what a Table holds now.
type Stats struct{ Queues, Bytes int64 }

// Table holds the unfinished datagrams of both families.
type Table struct {
	v4, v6 family
}

// New returns an empty Table.
func New(c Config) *Table {
	if c.Bytes == 0 {
		c.Bytes = DefaultBytes
	}
	t := new(Table)
	t.v4.init(c.Bytes, Timeout4, c.Seed)
	t.v6.init(c.Bytes, Timeout6, c.Seed)
	return t
}

// Stats reads the gauges; any thread.
func (t *Table) Stats() Stats {
	return Stats{
		Queues: t.v4.count.Load() + t.v6.count.Load(),
		Bytes:  t.v4.mem.Load() + t.v6.mem.Load(),
	}
}

// Add takes one fragment: ip_defrag and ipv6_frag_rcv.
func (t *Table) Add(x *Fragment, buf *Buffer) (r Result) {
	m := x.Meta
	f := &t.v4
	if m.IPVer == 6 {
		f = &t.v6
	}
	if why := refused(x); why != mib.NotDropped {
		r.drop(why)
		return r
	}
	// inet_frag_find refuses every fragment, of old queues too, above the limit.
	if f.mem.Load() > f.limit {
		f.reclaim(x.Now, &r)
		if f.mem.Load() > f.limit {
			r.Failed++
			r.drop(mib.NoMem)
			return r
		}
	}
	k := keyOf(x)
	s := &f.shards[f.source(&k)&(nShards-1)]
	s.lock.acquire()
	done := f.add(s, &k, x, &r)
	s.lock.release()
	if done != 0 {
		f.assemble(done, buf, &r)
		f.free(done)
	}
	return r
}

func (r *Result) drop(why mib.Reason) { r.Outcome, r.Reason = Dropped, why }

// refused says why a fragment cannot be queued at all. A first fragment whose
// IP header the capture cut gives no datagram to decide about.
func refused(x *Fragment) mib.Reason {
	m := x.Meta
	switch {
	case m.IPVer == 6 && truncated(m):
		return mib.IPv6BadExthdr
	case m.FragOff == 0 && uint64(partAt(m)) > uint64(len(x.Frame.Data)):
		return mib.PktTooSmall
	}
	return mib.NotDropped
}

// truncated reports whether a first fragment ends before its transport header
// does, which RFC 8200 forbids (ipv6frag_thdr_truncated). A chain of headers
// that cannot be followed is left to the datagram's own parse.
func truncated(m *packet.Meta) bool {
	if m.FragOff != 0 || !m.Has(packet.HasProto) {
		return false
	}
	need := uint32(1)
	switch m.Proto {
	case packet.ProtoTCP:
		need = 20
	case packet.ProtoUDP, packet.ProtoICMPv6:
		need = 8
	}
	return m.L4Len < need
}

// key is what fragments of one datagram have in common.
type key struct {
	saddr, daddr flowtable.Addr
	id           uint32
	dev          uint32 // IPv6 to link-local or multicast only, else 0
	vrf          uint16
	proto        uint8 // IPv4 only
}

func keyOf(x *Fragment) key {
	m := x.Meta
	k := key{saddr: m.Saddr, daddr: m.Daddr, id: m.FragID, vrf: x.VRF}
	if m.IPVer == 4 {
		k.proto = m.Proto
		return k
	}
	if m.Daddr.Hi>>56 == 0xff || m.Daddr.Hi>>54 == 0xfe80>>6 {
		k.dev = x.Dev
	}
	return k
}

// source hashes what chooses the shard: all queues of a source are in one, and
// so is the count of its fragments.
func (f *family) source(k *key) uint32 {
	return mix(mix(f.seed, k.saddr.Hi), k.saddr.Lo^uint64(k.vrf)<<48)
}

// bucket hashes the rest of the key within the shard.
func (f *family) bucket(k *key) uint32 {
	h := mix(f.seed, k.daddr.Hi^k.saddr.Lo)
	return mix(uint64(h)^f.seed, k.daddr.Lo^uint64(k.id)<<32^uint64(k.dev)<<8^uint64(k.proto)) & (nBuckets - 1)
}

// mix folds the 128-bit product of a and b, both blinded.
func mix[T uint32 | uint64](a T, b uint64) uint32 {
	hi, lo := bits.Mul64(uint64(a)^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	x := hi ^ lo
	return uint32(x ^ x>>32)
}
