//go:build !dpdk

package dpdk

import (
	"net"
	"time"

	"edemux/dataplane/packet"
)

// The package's surface without DPDK: Init refuses, so no value of the types
// below comes into being and their methods have nothing to do.

// Built says whether this program has DPDK.
const Built = false

type (
	// EAL is the running environment.
	EAL struct{}
	// Pool is a mempool of mbufs.
	Pool struct{}
	// Ring is a bounded ring for one producer and one consumer.
	Ring struct{}
	// Port is an Ethernet device.
	Port struct{}
	// RxQueue is one receive queue of a port.
	RxQueue struct{}
	// TxQueue is one transmit queue of a port.
	TxQueue struct{}
	// Feeder puts frames of a capture into a receive queue.
	Feeder struct{}
	// Hash is DPDK's rte_hash.
	Hash struct{}
	// Mbuf is the address of an rte_mbuf.
	Mbuf uintptr
)

// Init returns ErrNotBuilt.
func Init(Options) (*EAL, error) { return nil, ErrNotBuilt }

// Version says that DPDK is absent.
func Version() string { return "DPDK: not built in" }

// TSC is 0 without DPDK.
func TSC() uint64 { return 0 }

// TSCHz is 0 without DPDK.
func TSCHz() float64 { return 0 }

// NowNS is 0 without DPDK.
func NowNS() int64 { return 0 }

// SyncClock does nothing without DPDK.
func SyncClock() {}

// FreeBurst does nothing without DPDK.
func FreeBurst([]Mbuf) {}

func (*EAL) Describe() []string                               { return nil }
func (*EAL) Args() []string                                   { return nil }
func (*EAL) Lcores() []Lcore                                  { return nil }
func (*EAL) RuntimeDir() string                               { return "" }
func (*EAL) Close() error                                     { return ErrNotBuilt }
func (*EAL) Launch(int, func(), func(error)) error            { return ErrNotBuilt }
func (*EAL) Wait(int) error                                   { return ErrNotBuilt }
func (*EAL) KeepOff() (int, error)                            { return 0, ErrNotBuilt }
func (*EAL) NewPool(string, PoolSize) (*Pool, error)          { return nil, ErrNotBuilt }
func (*EAL) NewRing(string, int, int) (*Ring, error)          { return nil, ErrNotBuilt }
func (*EAL) OpenPort(PortOptions) (*Port, error)              { return nil, ErrNotBuilt }
func (*EAL) OpenFeed(PortOptions) (*Port, []*Feeder, error)   { return nil, nil, ErrNotBuilt }
func (*EAL) NewHash(HashConfig) (*Hash, error)                { return nil, ErrNotBuilt }
func (*Hash) Insert([]byte) int                               { return 0 }
func (*Hash) Lookup([]byte) int                               { return 0 }
func (*Hash) Delete([]byte) int                               { return 0 }
func (*Hash) Bytes() uint64                                   { return 0 }
func (*Hash) Close()                                          {}
func (*EAL) Register(Command) error                           { return ErrNotBuilt }
func (*Pool) Size() PoolSize                                  { return PoolSize{} }
func (*Pool) Avail() int                                      { return 0 }
func (*Pool) InUse() int                                      { return 0 }
func (*Pool) Lost() int                                       { return 0 }
func (*Pool) Close() error                                    { return ErrNotBuilt }
func (*Pool) New([]byte) (Mbuf, bool)                         { return 0, false }
func (*Ring) Put([]Mbuf) int                                  { return 0 }
func (*Ring) Get([]Mbuf) int                                  { return 0 }
func (*Ring) Len() int                                        { return 0 }
func (*Ring) Cap() int                                        { return 0 }
func (*Ring) Close()                                          {}
func (*Port) Start() error                                    { return ErrNotBuilt }
func (*Port) Stop() error                                     { return ErrNotBuilt }
func (*Port) Close() error                                    { return ErrNotBuilt }
func (*Port) Rx(int) *RxQueue                                 { return nil }
func (*Port) Tx(int) *TxQueue                                 { return nil }
func (*Port) ID() uint16                                      { return 0 }
func (*Port) MAC() net.HardwareAddr                           { return nil }
func (*Port) Info() PortInfo                                  { return PortInfo{} }
func (*Port) Link() (Link, error)                             { return Link{}, ErrNotBuilt }
func (*Port) Stats() (Stats, error)                           { return Stats{}, ErrNotBuilt }
func (*Port) XStats() ([]XStat, error)                        { return nil, ErrNotBuilt }
func (*Port) ResetStats() error                               { return ErrNotBuilt }
func (*Port) SetPromiscuous(bool) error                       { return ErrNotBuilt }
func (*Port) SetMTU(int) error                                { return ErrNotBuilt }
func (*RxQueue) Flushes(...*TxQueue) bool                     { return false }
func (*RxQueue) Poll() []packet.Frame                         { return nil }
func (*RxQueue) Now() int64                                   { return 0 }
func (*RxQueue) TSC() uint64                                  { return 0 }
func (*RxQueue) Keep(int) Mbuf                                { return 0 }
func (*RxQueue) Mbuf(int) Mbuf                                { return 0 }
func (*RxQueue) Kept(int) bool                                { return false }
func (*RxQueue) Unkeep(int)                                   {}
func (*RxQueue) Index(*packet.Frame) (int, bool)              { return 0, false }
func (*RxQueue) Stripped(int) bool                            { return false }
func (*RxQueue) Single(int) bool                              { return false }
func (*RxQueue) Seq(int) uint64                               { return 0 }
func (*RxQueue) Hash(int) (uint32, bool)                      { return 0, false }
func (*RxQueue) Csum(int) Csum                                { return 0 }
func (*RxQueue) Release()                                     {}
func (*RxQueue) SetBurst(int)                                 {}
func (*RxQueue) Source(time.Duration) (uint64, time.Duration) { return 0, 0 }
func (*RxQueue) Stats() RxStats                               { return RxStats{} }
func (*TxQueue) Put(Mbuf) bool                                { return false }
func (*TxQueue) Flush()                                       {}
func (*TxQueue) Waiting() int                                 { return 0 }
func (*TxQueue) Stats() TxStats                               { return TxStats{} }
func (*Feeder) Stage(*packet.Frame, uint64) bool              { return false }
func (*Feeder) Push() int                                     { return 0 }
func (*Feeder) Stats() FeedStats                              { return FeedStats{} }
func (*Feeder) Close()                                        {}
func (Mbuf) Head() []byte                                     { return nil }
func (Mbuf) Copy() (Mbuf, bool)                               { return 0, false }
func (Mbuf) Retag(int, []uint16) bool                         { return false }
func (Mbuf) Len() int                                         { return 0 }
