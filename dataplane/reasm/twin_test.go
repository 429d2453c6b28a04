package reasm

import (
	"bytes"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
	"edemux/dataplane/packet/packettest"
)

// twin is reassembly written the plain way: maps, sorted slices, no arena.
type twin struct {
	trains map[key]*train
	rid    map[key]uint32 // by source
	limit  int
}

type piece struct {
	off, end uint32
	hdr      []byte
	data     []byte // captured
}

type train struct {
	deadline int64
	pieces   []piece
	runs     [][2]uint32 // of pieces that came in order, sorted
	first    bool
	last     bool
	len      uint32
	ecn      uint8
	rid      uint32
	mem      int
}

func newTwin(limit int) *twin {
	return &twin{map[key]*train{}, map[key]uint32{}, limit}
}

func source(k key) key { return key{saddr: k.saddr, vrf: k.vrf} }

func (w *twin) mem(v6 bool) (n int) {
	for k, t := range w.trains {
		if !k.saddr.Is4() == v6 {
			n += t.mem
		}
	}
	return n
}

func (w *twin) remove(k key) {
	delete(w.trains, k)
	for other := range w.trains {
		if source(other) == source(k) {
			return
		}
	}
	delete(w.rid, source(k))
}

func (w *twin) expire(now int64, r *Result, match func(key) bool) {
	for k, t := range w.trains {
		if now >= t.deadline && match(k) {
			w.remove(k)
			r.Failed++
			r.TimedOut++
		}
	}
}

func (w *twin) add(x *Fragment) (r Result) {
	m := x.Meta
	v6 := m.IPVer == 6
	if why := refused(x); why != mib.NotDropped {
		r.drop(why)
		return r
	}
	if w.mem(v6) > w.limit {
		w.expire(x.Now, &r, func(k key) bool { return !k.saddr.Is4() == v6 })
		if w.mem(v6) > w.limit {
			r.Failed++
			r.drop(mib.NoMem)
			return r
		}
	}
	k := keyOf(x)
	w.expire(x.Now, &r, func(o key) bool { return o == k })
	t := w.trains[k]
	timeout := int64(Timeout4)
	if v6 {
		timeout = Timeout6
	}
	if t == nil {
		t = &train{deadline: x.Now + timeout, mem: queueCharge}
		w.trains[k] = t
	}
	if !v6 {
		w.rid[source(k)]++
		now := w.rid[source(k)]
		if len(t.pieces) > 0 && now-t.rid > MaxDist {
			*t = train{deadline: x.Now + timeout, mem: queueCharge}
			r.Failed++
		}
		t.rid = now
	}
	why := t.insert(x)
	if why == mib.DupFrag {
		r.drop(why)
		return r
	}
	if why != mib.NotDropped {
		if why == overlap {
			why = mib.FragReasmFail
			r.Overlaps++
		}
		r.Failed++
		r.drop(why)
		w.remove(k)
		return r
	}
	if t.first && t.last && t.covered() == t.len {
		w.remove(k)
		t.finish(v6, &r)
	}
	return r
}

func (t *train) insert(x *Fragment) mib.Reason {
	m := x.Meta
	v6 := m.IPVer == 6
	at := m.L4
	if v6 {
		at = m.FragAt + 8
	}
	off, end := m.FragOff, m.FragOff+m.L3+m.L3Len-at
	switch {
	case v6 && end > 65535, v6 && m.MoreFrags && end%8 != 0:
		return mib.IPv6BadExthdr
	case m.MoreFrags:
		end -= end % 8
		if t.last && end > t.len {
			return mib.FragReasmFail
		}
	case end < t.len, t.last && end != t.len:
		return mib.FragReasmFail
	default:
		t.last = true
	}
	t.len = max(t.len, end)
	if end == off {
		return mib.FragReasmFail
	}
	for _, run := range t.runs {
		if off >= run[0] && end <= run[1] {
			return mib.DupFrag
		}
	}
	for _, run := range t.runs {
		if off < run[1] && end > run[0] {
			return overlap
		}
	}
	if n := len(t.runs); n > 0 && off == t.runs[n-1][1] {
		t.runs[n-1][1] = end
	} else {
		t.runs = append(t.runs, [2]uint32{off, end})
		sort.Slice(t.runs, func(i, j int) bool { return t.runs[i][0] < t.runs[j][0] })
	}
	p := piece{off: off, end: end}
	if d := x.Frame.Data; int(at) < len(d) {
		p.data = d[at:min(int(at+end-off), len(d))]
	}
	if off == 0 {
		t.first = true
		p.hdr = x.Frame.Data[m.L3:at]
	}
	t.pieces = append(t.pieces, p)
	sort.Slice(t.pieces, func(i, j int) bool { return t.pieces[i].off < t.pieces[j].off })
	t.mem += max(1, (len(p.hdr)+len(p.data)+blockSize-1)/blockSize) * blockSize
	t.ecn |= 1 << (m.TOS & 3)
	return mib.NotDropped
}

func (t *train) covered() (n uint32) {
	for _, p := range t.pieces {
		n += p.end - p.off
	}
	return n
}

func (t *train) finish(v6 bool, r *Result) {
	h := bytes.Clone(t.pieces[0].hdr)
	total := uint32(len(h)) + t.len
	if v6 {
		total -= 8
	}
	if e := ecnTable[t.ecn]; e == ecnFail || total > 65535 && !v6 || total > 65535+40 {
		r.Failed++
		r.drop(mib.FragReasmFail)
		return
	} else if v6 {
		// The rig puts nothing between the fixed header and the fragment header.
		h[6] = h[40]
		h[1] |= e << 4
		h = h[:40]
		h[4], h[5] = byte((total-40)>>8), byte(total-40)
	} else {
		header4(h, total, e)
	}
	r.Outcome, r.WireLen = Complete, total
	for _, p := range t.pieces {
		h = append(h, p.data...)
		if len(p.data) < int(p.end-p.off) {
			break
		}
	}
	r.Datagram = h
}

// play runs ops, four bytes each, through Table and twin and requires equal
// answers after every fragment.
func play(t *testing.T, ops []byte, limit int64) {
	tab, w := New(Config{Bytes: limit, Seed: 5}), newTwin(int(limit))
	var buf Buffer
	now := int64(0)
	for i := 0; i+4 <= len(ops); i += 4 {
		o := ops[i : i+4]
		now += int64(o[3]>>5) * int64(o[3]>>5) * sec / 4
		b := packettest.New()
		n := int(o[1]&15)*8 + int(o[1]>>6)*1480
		if o[1]&0x30 == 0x30 {
			n -= min(n, int(o[3]&7))
		}
		src4, src6 := v4a, v6a
		if o[0]&8 != 0 {
			src4, src6 = v4b, v6b
		}
		off := int(o[2]) * 8
		if o[0]&0x40 != 0 {
			off = int(o[2]) * 256
		}
		if o[0]&4 == 0 {
			b.IPv4(src4, v4b).TOS(o[0] >> 4 & 1).ID(uint32(o[0] & 3))
		} else {
			b.IPv6(src6, v6b).TOS(o[0] >> 4 & 1).FragHdr(uint32(o[0] & 3))
		}
		f := b.Fragment(off, o[0]&0x20 != 0).Proto(17).PayloadLen(n).Frame()
		if o[0]&0x80 != 0 {
			f.Data = f.Data[:len(f.Data)-min(n, int(o[3]&31))]
		}
		var m packet.Meta
		packet.Parse(&f, &packet.Options{VerifyIP: true}, &m)
		if m.Reason != mib.NotDropped || m.L4Reason != mib.NotDropped || !m.Has(packet.Fragment) {
			continue
		}
		x := &Fragment{Frame: &f, Meta: &m, Now: now}
		got, want := tab.Add(x, &buf), w.add(x)
		require.Equal(t, want, got, "op %d: % x", i/4, o)
		require.EqualValues(t, len(w.trains), tab.Stats().Queues)
		require.EqualValues(t, w.mem(false)+w.mem(true), tab.Stats().Bytes)
	}
	tab.Sweep(now+1000*sec, 1<<30)
	(&rig{t: t, tab: tab}).empty()
}

func TestTwin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	for range 200 {
		ops := make([]byte, 4*(50+r.IntN(200)))
		for i := range ops {
			ops[i] = byte(r.Uint32())
			if i%4 == 2 && r.IntN(2) == 0 {
				ops[i] &= 15
			}
			if i%4 == 3 && r.IntN(10) != 0 {
				ops[i] &= 31
			}
		}
		if r.IntN(2) == 0 {
			neat(r, ops)
		}
		play(t, ops, []int64{20_000, 200_000, 4 << 20}[r.IntN(3)])
	}
}

// neat makes the fragments of ops 16 bytes long and whole, so that many of them
// join: runs of several, and gaps between runs that close.
func neat(r *rand.Rand, ops []byte) {
	for i := 0; i+4 <= len(ops); i += 4 {
		ops[i] = ops[i]&0x05 | 0x20
		ops[i+1], ops[i+2], ops[i+3] = 2, ops[i+2]&15*2, 0
		if i >= 4 && r.IntN(2) == 0 {
			ops[i], ops[i+2] = ops[i-4], ops[i-2]+2
		}
		if ops[i+2] == 30 {
			ops[i] &^= 0x20
		}
	}
}

func FuzzReasm(f *testing.F) {
	f.Add([]byte{0x20, 2, 0, 0, 0, 2, 2, 0}, false)
	f.Add([]byte{0x24, 2, 0, 0, 0x24, 2, 2, 0xe0, 4, 2, 4, 0}, true)
	f.Add([]byte{0x20, 5, 0, 0, 0x20, 5, 3, 0, 0x28, 1, 0, 0x40}, true)
	f.Fuzz(func(t *testing.T, ops []byte, small bool) {
		limit := int64(DefaultBytes)
		if small {
			limit = 10_000
		}
		play(t, ops[:min(len(ops), 4000)], limit)
	})
}
