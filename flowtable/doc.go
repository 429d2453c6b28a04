// Package flowtable is the ehash of edemux: the table of flows with a full
// identity (established, NEW_SYN_RECV and TIME_WAIT sockets of TCP, connected
// sockets of UDP). It knows tuples, a keyed additive hash, growth, ageing and
// the choice of source ports; it knows no packets, no ports and no drops.
//
// # Names
//
//   - [Addr], [Key]: addresses and the identity of a flow, socket side first.
//   - [Hasher], [Seed], [Sum]: the additive hash; docs/hash.md has its threat
//     model.
//   - [Table]: memory and growth. [Space]: one VRF's view of a table, its own
//     or a shared one. Flows of two spaces never match each other, whatever
//     their hashes.
//   - [Ref]: where a lookup found a flow. It stays good until the flow is
//     deleted or moved by growth; then Get reports false and Update and Delete
//     return [ErrGone], and the caller looks up again.
//
// # Threads
//
// Any thread may call any method of Table and Space, but [Table.Close], which
// must be the last call. Lookup, Get and Sock take no lock. Insert, Update and
// Delete take one bucket for a handful of stores and return [ErrContended]
// instead of waiting for long; the caller tries again at the end of its burst.
//
// Memory that a growing table has left is unmapped only after every registered
// [Reader] has passed a quiescent point. An lcore holds a Reader and calls
// [Reader.Quiescent] between bursts; the methods for control threads (All,
// DeleteSock, Remove, Stats) register themselves.
//
// # Time
//
// now and deadlines are nanoseconds of one clock that never goes back. A flow
// is absent from the instant now >= Deadline; sweeping in [Table.Step] only
// gives its memory back.
//
// # Beyond the agreed names
//
// Config.Hasher is required: growth hashes the flows anew. [Space.Update] into
// TIME_WAIT above the space's limit deletes the flow and returns
// [ErrTimeWaitFull], as Linux does (TCPTimeWaitOverflow). The policy `pass`
// shows as [ErrPass]. Lcores register with [Table.Reader].
package flowtable
