package reasm

import (
	"edemux/dataplane/mib"
	"edemux/dataplane/packet"
)

// add puts a fragment into its queue, under the lock of s. It returns the
// queue, unlinked, when the datagram is whole, else 0.
func (f *family) add(s *shard, k *key, x *Fragment, r *Result) uint32 {
	i := f.find(s, k, x.Now, r)
	if i == 0 {
		i = f.create(s, k, x.Now)
	}
	q := f.at(i)
	if q.peer != 0 {
		f.tooFar(s, i, x.Now, r)
	}
	switch why := f.insert(q, x); why {
	case mib.NotDropped:
	case mib.DupFrag:
		r.drop(why)
		return 0
	default:
		if why == overlap {
			r.Overlaps++
			why = mib.FragReasmFail
		}
		r.Failed++
		r.drop(why)
		f.kill(s, i)
		return 0
	}
	if q.flags != firstIn|lastIn || q.meat != q.len {
		return 0
	}
	f.unlink(s, i)
	return i
}

// overlap is a verdict of place alone: the datagram fails, and it is counted
// by itself.
const overlap = mib.NReasons

// tooFar counts a fragment of the queue's source and starts the queue anew
// when too many others came in between (ip_frag_too_far, ip_frag_reinit).
func (f *family) tooFar(s *shard, i uint32, now int64, r *Result) {
	q := f.at(i)
	p := &s.peers.list[q.peer-1]
	p.rid++
	start := q.rid
	q.rid = p.rid
	if q.tail == 0 || q.rid-start <= MaxDist {
		return
	}
	r.Failed++
	f.purge(q)
	q.flags, q.len, q.meat, q.ecn = 0, 0, 0, 0
	f.delist(s, i)
	q.deadline = now + f.timeout
	f.enlist(s, i)
}

// insert is ip_frag_queue and ip6_frag_queue. Lengths are those of the wire;
// what a snap length cut off stays missing.
func (f *family) insert(q *queue, x *Fragment) mib.Reason {
	m := x.Meta
	at := partAt(m)
	off := m.FragOff
	end := off + (m.L3 + m.L3Len - at)
	if why := q.extend(m, off, &end); why != mib.NotDropped {
		return why
	}
	why, prev := f.place(q, off, end)
	if why != mib.NotDropped {
		return why
	}
	data := x.Frame.Data
	var hdr, body []byte
	if uint64(at) < uint64(len(data)) {
		body = data[at:min(uint64(at+end-off), uint64(len(data)))]
	}
	if off == 0 {
		hdr = data[m.L3:at]
		q.flags |= firstIn
		q.pkt, q.nvlan, q.vlans, q.link = m.PktType, m.NVLAN, m.VLANs, m.Flags&packet.Loopback
	}
	i, charge := f.store(hdr, body)
	g := f.frag(i)
	g.off, g.len, g.have, g.hdr = off, end-off, uint32(len(body)), uint32(len(hdr))
	f.link(q, i, prev)
	q.meat += end - off
	q.ecn |= 1 << (m.TOS & 3)
	q.mem += charge
	f.mem.Add(charge)
	return mib.NotDropped
}

// partAt is the offset of a fragment's part of the datagram in its frame.
func partAt(m *packet.Meta) uint32 {
	if m.IPVer == 6 {
		return m.FragAt + 8
	}
	return m.L4
}

// extend checks a fragment's end against what is known of the datagram's
// length, and notes what it says.
func (q *queue) extend(m *packet.Meta, off uint32, end *uint32) mib.Reason {
	v6 := m.IPVer == 6
	if v6 && *end > 0xffff {
		return mib.IPv6BadExthdr
	}
	if !m.MoreFrags {
		if *end < q.len || q.flags&lastIn != 0 && *end != q.len {
			return mib.FragReasmFail
		}
		q.flags |= lastIn
		q.len = *end
	} else {
		if *end&7 != 0 {
			if v6 {
				return mib.IPv6BadExthdr
			}
			*end &^= 7
		}
		if *end > q.len {
			if q.flags&lastIn != 0 {
				return mib.FragReasmFail
			}
			q.len = *end
		}
	}
	if *end == off {
		return mib.FragReasmFail
	}
	return mib.NotDropped
}

// place finds where [off, end) goes: behind prev, 0 for in front. It follows
// inet_frag_queue_insert: a fragment within a run of fragments that came in
// order is a duplicate, any other meeting is an overlap.
func (f *family) place(q *queue, off, end uint32) (why mib.Reason, prev uint32) {
	if q.tail == 0 {
		return mib.NotDropped, 0
	}
	t := f.frag(q.tail)
	if t.off+t.len < end {
		if off < t.off+t.len {
			return overlap, 0
		}
		return mib.NotDropped, q.tail
	}
	for i := q.head; i != 0; {
		g := f.frag(i)
		switch {
		case end <= g.off:
			return mib.NotDropped, prev
		case off >= g.runEnd:
		case off >= g.off && end <= g.runEnd:
			return mib.DupFrag, 0
		default:
			return overlap, 0
		}
		prev = g.runPos
		i = f.frag(prev).next
	}
	return mib.NotDropped, prev
}

// link puts fragment i behind prev. At the end it joins the last run when it
// follows without a gap; anywhere else it is a run of its own.
func (f *family) link(q *queue, i, prev uint32) {
	g := f.frag(i)
	if prev == 0 {
		g.next, q.head = q.head, i
	} else {
		p := f.frag(prev)
		g.next, p.next = p.next, i
	}
	atEnd := prev == q.tail
	if atEnd && prev != 0 && f.frag(prev).off+f.frag(prev).len == g.off {
		run := f.frag(q.lastRun)
		run.runEnd, run.runPos = g.off+g.len, i
		q.tail = i
		return
	}
	g.runEnd, g.runPos = g.off+g.len, i
	if atEnd {
		q.tail, q.lastRun = i, i
	}
}
