// Package port is the burst-shaped interface between what receives frames and
// the lcores that poll it: a looping capture (pcap.go), DPDK, or a test.
//
// Job: RxQueue, one receive queue; Port, the device with its queues. Order: a
// Port is opened, started, its queues are polled, it is closed when the lcores
// have left. Threads: an RxQueue belongs to one lcore, but Stats, which any
// thread may call; a Port belongs to one control goroutine. Ownership: frames are
// borrowed from the queue until its next RxBurst or Free. Errors: opening
// fails with the object's name; polling never fails, a source that breaks is
// Done and Port.Err says why.
// Kernel counterpart: the napi_poll of a driver.
package port

import "edemux/dataplane/packet"

// MaxBurst is the most frames that RxBurst returns.
const MaxBurst = 64

// RxQueue is one receive queue of a port, polled by one lcore.
//
// RxBurst and Free never block, never allocate and take no lock that another
// thread holds for longer than a handful of instructions.
type RxQueue interface {
	// RxBurst gives the frames of the call before back and returns the next
	// ones, at most MaxBurst, none when there are none now. now is the caller's
	// clock, ns since the Unix epoch, never going back: sources without a clock of
	// their own stamp frames with it. Every frame carries the index of its port
	// and the CPU number of the queue.
	RxBurst(now int64) []packet.Frame
	// Free gives the frames in hand back without taking further ones.
	Free()
	// Done reports that no frame will come any more. A device is never done.
	Done() bool
	// Stats returns the queue's counters. Any thread.
	Stats() QueueStats
}

// QueueStats are the counters of a queue, exact between polls.
type QueueStats struct {
	Frames, Bytes uint64 // handed to the lcore; lengths on the wire
	Passes        uint64 // finished passes of a capture
	Stalled       uint64 // polls that found the source behind, though it was due
}

// Port is a source of frames with one or more queues.
type Port interface {
	// Info describes the port. Any thread.
	Info() Info
	// Queues are the receive queues by number.
	Queues() []RxQueue
	// Start lets frames come.
	Start() error
	// Err is why the source broke, nil as long as it did not. Any thread.
	Err() error
	// Close ends the port. No lcore polls its queues any more.
	Close() error
}

// Info describes a port.
type Info struct {
	Source string // pcap:FILE, or the device
	MAC    string // "" when unknown
	Link   string // up, down, or "" where there is no link
	Missed uint64 // frames lost before they reached a queue

	Sent, SentBytes uint64
	Refused         uint64 // packets to send that the device did not take
	Unsent          uint64 // packets of this port that could not be turned around or sent on
	Expired         uint64 // packets to forward that had no hop left
}

// Sub returns what was counted since o.
func (i Info) Sub(o Info) Info {
	i.Missed -= o.Missed
	i.Sent -= o.Sent
	i.SentBytes -= o.SentBytes
	i.Refused -= o.Refused
	i.Unsent -= o.Unsent
	i.Expired -= o.Expired
	return i
}
