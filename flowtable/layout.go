package flowtable

import "sync/atomic"

// # Layout
//
// Everything lies in lines of 64 bytes, one cache line each, of eight words.
//
// An IPv4 line holds three flows. Word 0 is the header, word 1 the three owners
// (21 bits each), then two words a flow: laddr<<32|faddr and
// lport<<48|fport<<32|sock. What a hit does not need lies in a parallel array,
// see cold4.
//
// An IPv6 line holds eight tags of 16 bits (words 1, 2) and eight record
// numbers of 32 bits (words 3-6); a record is one line of its own that never
// moves, see the rec constants.
//
// A bucket is the low bits of the additive hash. Consecutive buckets share a
// line: 16 buckets five IPv4 lines, 4 buckets one IPv6 line. A line that is
// full continues in overflow lines; line and overflow lines together are a
// chain, locked and versioned by the header of its first line, the home line.
//
// # Header
//
//	bits  0-20  version, changes with every change of the chain
//	bit   21    locked by a writer
//	bit   22    moved: this home line's flows are in the next geometry
//	bits 23-31  flags of the slots; IPv4: state+1 (2 bits each, 0 = empty),
//	            then "has a deadline" (1 bit each); IPv6: "has a deadline"
//	bits 32-39  filter: which values of the top three hash bits occur in the
//	            overflow lines (home lines only)
//	bits 40-63  next line of the chain: 1 + number of the overflow line, 0 = none
//
// Version, lock and occupancy are in one word: an optimistic reader loads it,
// reads what it needs, and loads it again.
type line [8]uint64

const (
	verMask   = 1<<21 - 1
	lockBit   = 1 << 21
	movedBit  = 1 << 22
	flagShift = 23
	dl4Shift  = 29
	dl6Shift  = 23
	flagMask  = 0x1ff << flagShift
	fltShift  = 32
	fltMask   = 0xff << fltShift
	ovfShift  = 40
	ovfMask   = 0xffffff << ovfShift
	maxOvf    = 1<<24 - 2

	slots4 = 3
	slots6 = 8

	ownerBits = 21
	ownerMask = 1<<ownerBits - 1
)

// fltBit is the filter bit of a hash.
func fltBit(h uint32) uint64 { return 1 << (fltShift + h>>29) }

// cold4 is the rarely read part of an IPv4 line's three flows, 13 1/3 bytes a
// flow. Words 0-2: deadline in units of 8 ns (60 bits are enough for any
// int64), rounded up, above the high 4 bits of the FIB generation code. Word 3:
// next sequence numbers of slots 0 and 1. Word 4: that of slot 2, and the low
// ten bits of the three codes.
type cold4 [5]uint64

const (
	dlUnit   = 3 // log2 ns
	genHi    = 4
	genLo    = 10
	genCodes = 1<<(genHi+genLo) - 1 // code 0 is "none or too old"
)

func (c *cold4) deadline(i int) int64 {
	return int64(atomic.LoadUint64(&c[i])>>genHi) << dlUnit
}

func (c *cold4) gen(i int) uint32 {
	hi := uint32(atomic.LoadUint64(&c[i])) & (1<<genHi - 1)
	lo := uint32(atomic.LoadUint64(&c[4])>>(genLo*i)) & (1<<genLo - 1)
	return hi<<genLo | lo
}

func (c *cold4) next(i int) uint32 {
	w := atomic.LoadUint64(&c[3+i>>1])
	if i == 1 {
		return uint32(w)
	}
	return uint32(w >> 32)
}

// set stores all three; the caller holds the chain.
func (c *cold4) set(i int, deadline int64, gen, next uint32) {
	d := uint64(deadline+1<<dlUnit-1) >> dlUnit
	atomic.StoreUint64(&c[i], d<<genHi|uint64(gen>>genLo))
	sh := genLo * i
	w4 := c[4]&^((1<<genLo-1)<<sh) | uint64(gen&(1<<genLo-1))<<sh
	switch i {
	case 0:
		atomic.StoreUint64(&c[3], c[3]&0xffffffff|uint64(next)<<32)
	case 1:
		atomic.StoreUint64(&c[3], c[3]&^0xffffffff|uint64(next))
	default:
		w4 = w4&0xffffffff | uint64(next)<<32
	}
	atomic.StoreUint64(&c[4], w4)
}

// Words of an IPv6 record, one line.
const (
	recLhi   = iota // laddr
	recLlo          //
	recFhi          // faddr
	recFlo          //
	recPorts        // lport<<48 | fport<<32 | sock
	recOwner        // owner | state+1 << 32; 0: free
	recNext         // next sequence number << 32 | FIB generation
	recDl           // deadline, ns
)

// tag6 is what an IPv6 line keeps of a hash. The multiplication makes it differ
// also between local ports that are a multiple of the buckets apart.
func tag6(h uint32) uint64 { return uint64(h * 0x9e3779b1 >> 16) }

// spread copies 16 bits into all four quarters of a word.
func spread(tag uint64) uint64 { return tag * 0x0001000100010001 }

// zeros16 sets bit 15 of the lowest quarter of x that is zero; higher quarters
// may show false positives, which the caller's full comparison sorts out.
func zeros16(x uint64) uint64 {
	return (x - 0x0001000100010001) & ^x & 0x8000800080008000
}

// split4 returns the two key words of an IPv4 key, and false for IPv6.
func (k *Key) split4() (addrs uint64, ports uint32, ok bool) {
	if !k.Is4() {
		return 0, 0, false
	}
	return k.Laddr.Lo<<32 | k.Faddr.Lo&0xffffffff, k.ports(), true
}

func (k *Key) ports() uint32 { return uint32(k.Lport)<<16 | uint32(k.Fport) }

func key4(addrs uint64, ports uint32) Key {
	return Key{V4(uint32(addrs >> 32)), V4(uint32(addrs)), uint16(ports >> 16), uint16(ports)}
}
