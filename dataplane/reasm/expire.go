package reasm

import "math"

// Swept says what Sweep ended: each datagram is one IpReasmTimeout and one
// IpReasmFails of its family.
type Swept struct{ V4, V6 uint32 }

// expire ends queue i, whose time is over (ip_expire, ip6_frag_expire).
func (f *family) expire(s *shard, i uint32, r *Result) {
	f.kill(s, i)
	r.Failed++
	r.TimedOut++
}

// sweep ends at most budget expired queues of s.
func (f *family) sweep(s *shard, now int64, budget int, r *Result) (soonest int64) {
	for s.first != 0 {
		q := f.at(s.first)
		if now < q.deadline || budget == 0 {
			return q.deadline
		}
		f.expire(s, s.first, r)
		budget--
	}
	return math.MaxInt64
}

// reclaim ends every expired queue. It is called when memory is short, and
// looks only when one can have expired since it last did.
func (f *family) reclaim(now int64, r *Result) {
	if now < f.soonest.Load() {
		return
	}
	soonest := now + f.timeout
	for i := range f.shards {
		s := &f.shards[i]
		s.lock.acquire()
		soonest = min(soonest, f.sweep(s, now, math.MaxInt, r))
		s.lock.release()
	}
	f.soonest.Store(soonest)
}

// Sweep ends at most about budget datagrams whose time is over. It only gives
// memory back: Add never finds an expired datagram. Any lcore, between bursts.
func (t *Table) Sweep(now int64, budget int) (w Swept) {
	w.V4 = t.v4.tick(now, budget)
	w.V6 = t.v6.tick(now, budget-int(w.V4))
	return w
}

// tick looks at every shard once, beginning where the last call ended.
func (f *family) tick(now int64, budget int) uint32 {
	if f.count.Load() == 0 {
		return 0
	}
	var r Result
	start := f.cursor.Load()
	for i := range uint32(nShards) {
		left := budget - int(r.TimedOut)
		if left <= 0 {
			break
		}
		f.cursor.Store(start + i + 1)
		s := &f.shards[(start+i)%nShards]
		s.lock.acquire()
		f.sweep(s, now, left, &r)
		s.lock.release()
	}
	return r.TimedOut
}
