package dataplane

import (
	"slices"
	"sync/atomic"

	"edemux/demux"
	"edemux/flowtable"
)

// eagerCounters is how many listeners get their request counter (4 KiB) when
// they start to listen; those after them get it with their first request, the
// one allocation that the walk can make in a listener's life.
const eagerCounters = 4096

// backlogs counts the NEW_SYN_RECV requests of each listener. The slice is
// replaced when sockets are created (control code); the counters stay, so an
// lcore may use an older slice for the rest of its burst.
type backlogs struct {
	socks atomic.Pointer[[]*atomic.Pointer[tickCount]]
	made  int
}

// listen prepares the counter of a new listener (control code).
func (b *backlogs) listen(sock uint32) {
	var s []*atomic.Pointer[tickCount]
	if p := b.socks.Load(); p != nil {
		s = *p
	}
	if int(sock) >= len(s) {
		grown := make([]*atomic.Pointer[tickCount], sock+sock/2+64)
		copy(grown, s)
		s = grown
	}
	if s[sock] == nil {
		s[sock] = new(atomic.Pointer[tickCount])
		if b.made < eagerCounters {
			s[sock].Store(new(tickCount))
			b.made++
		}
	}
	b.socks.Store(&s)
}

// counter returns the counter of a listener, brought up to now.
func (b *backlogs) counter(sock uint32, now int64) *tickCount {
	slot := (*b.socks.Load())[sock]
	c := slot.Load()
	if c == nil {
		slot.CompareAndSwap(nil, new(tickCount))
		c = slot.Load()
	}
	c.advance(now)
	return c
}

// full reports whether another request is refused, syncookies being off: queue
// is inet_csk_reqsk_queue_is_full, which lets one more in than the listener's
// backlog says; proven the last quarter of tcp_max_syn_backlog, which
// tcp_conn_request keeps for proven peers.
func (b *backlogs) full(sock uint32, backlog, maxSyn int, now int64) (queue, proven bool) {
	n := int(b.counter(sock, now).live.Load())
	return n > backlog, maxSyn-n < maxSyn>>2
}

func (b *backlogs) add(sock uint32, deadline, now int64)    { b.counter(sock, now).add(deadline) }
func (b *backlogs) remove(sock uint32, deadline, now int64) { b.counter(sock, now).remove(deadline) }

// timeWaits counts the TIME_WAIT entries of each VRF against
// tcp_max_tw_buckets.
type timeWaits struct {
	vrfs atomic.Pointer[[]*tickCount] // replaced when VRFs are added (control code)
}

func (t *timeWaits) grow(n int) {
	var all []*tickCount
	if p := t.vrfs.Load(); p != nil {
		all = slices.Clone(*p)
	}
	for len(all) < n {
		all = append(all, new(tickCount))
	}
	t.vrfs.Store(&all)
}

// admit reports whether the VRF may hold one more TIME_WAIT entry.
func (t *timeWaits) admit(v *demux.VRF, now int64) bool {
	c := (*t.vrfs.Load())[v.Index]
	c.advance(now)
	return c.live.Load() < int64(v.Sysctl.TCPMaxTwBuckets)
}

// move accounts a state or deadline change of one entry.
func (t *timeWaits) move(v *demux.VRF, from, to *flowtable.Flow, now int64) {
	c := (*t.vrfs.Load())[v.Index]
	c.advance(now)
	if from.State == flowtable.TimeWait {
		c.remove(from.Deadline)
	}
	if to.State == flowtable.TimeWait {
		c.add(to.Deadline)
	}
}
