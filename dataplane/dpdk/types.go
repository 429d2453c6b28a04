package dpdk

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// ErrNotBuilt is what Init returns when the program was built without DPDK.
var ErrNotBuilt = errors.New("built without DPDK: install libdpdk-dev and run make build")

// MaxBurst is the largest receive burst: a bit per packet in the keep mask.
const MaxBurst = 64

// Error is a failed step: what was being done, to which object, and DPDK's
// reason, which is its error code and, when it logged one, its own words.
type Error struct {
	Object string // device string, pool name, "EAL"
	Step   string
	Reason string
	Code   int // errno, positive
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Object, e.Step, e.Reason) }

// Options say how EAL starts.
type Options struct {
	CPUs         []int    // CPUs that poll: worker lcore i+1 runs on CPUs[i]
	Housekeeping []int    // CPUs of everything else; nil: those this thread may use and CPUs does not hold
	MemoryMB     int      // packet memory, MiB; 0: 256
	Prefix       string   // file prefix; "": "edemux"
	Devices      []string // device strings of the ports that will be opened: decides about PCI
	Extra        []string // EAL arguments of the user; those that contradict the ones above are refused by name
	NoTelemetry  bool
	LogLevel     int // lines of DPDK's log up to this level (1 emergency .. 8 debug) go to stderr; 0: none
}

// Lcore is a polling thread of EAL.
type Lcore struct {
	ID   int // EAL's number
	CPU  int
	NUMA int
}

// PortOptions say how a port is opened. Zero values are the device's defaults.
type PortOptions struct {
	Device      string  // EAL device string: "0000:3b:00.0", "net_af_packet0,iface=veth0"
	Index       uint16  // index of the port in the configuration; packet.Frame.Port
	RxQueues    int     // 0: 1
	TxQueues    int     // 0: 1
	TxFewer     bool    // open fewer transmit queues where the device has fewer
	RxDesc      int     // descriptors per receive queue; 0: 1024
	TxDesc      int     // 0: 1024
	Burst       int     // packets per poll, at most MaxBurst; 0: MaxBurst
	MTU         int     // 0: as the device has it
	Pools       []*Pool // one for all receive queues, or one each
	Promiscuous bool
	Checksum    bool     // let the device verify checksums when it can
	TxChecksum  bool     // let the device fill checksums when it can
	VLANStrip   bool     // let the device take the outermost tag off when it can
	RSSKey      []byte   // nil: the device's own
	RSSFields   uint64   // RSS* bits; 0: RSSDefault
	RETA        []uint16 // queue of each entry, repeated to the device's size; nil: the device's own
	CPUs        []uint16 // CPU number of each queue (packet.Frame.CPU); nil: the queue's index
	MaxFrame    int      // a frame of several mbufs is made contiguous up to so many bytes; 0: MTU + 64
	Meta        bool     // mbufs come from Feeders and carry what the capture knows
}

// PortInfo is what a port can do and what of it is on.
type PortInfo struct {
	Device, Name, Driver   string
	ID                     uint16
	NUMA                   int
	MAC                    net.HardwareAddr
	MTU, MinMTU, MaxMTU    int
	MaxRxQueues            int
	MaxTxQueues            int
	RxQueues, TxQueues     int
	RxDesc, TxDesc         int // as the device adjusted them
	RETA                   int // entries of the redirection table; 0: none
	RSSKeyLen              int // bytes
	RSSCapable, RSSOn      uint64
	RxCapable, RxOn        uint64 // RTE_ETH_RX_OFFLOAD_* bits
	TxCapable, TxOn        uint64
	RxOffloads, TxOffloads []string // names of the bits that are on
	Notes                  []string // what was asked for and is left to software, one clause each
}

// String is one line for people.
func (i *PortInfo) String() string {
	s := fmt.Sprintf("%s: driver %s, MAC %s, MTU %d, %d rx queues of %d, %d tx queues of %d",
		i.Device, i.Driver, i.MAC, i.MTU, i.RxQueues, i.RxDesc, i.TxQueues, i.TxDesc)
	if len(i.RxOffloads) > 0 {
		s += ", rx " + strings.Join(i.RxOffloads, " ")
	}
	if len(i.TxOffloads) > 0 {
		s += ", tx " + strings.Join(i.TxOffloads, " ")
	}
	if len(i.Notes) > 0 {
		s += "; " + strings.Join(i.Notes, "; ")
	}
	return s
}

// RSS field bits (RTE_ETH_RSS_*), stable in DPDK's ABI.
const (
	RSSIPv4        = 1 << 2
	RSSFragIPv4    = 1 << 3
	RSSIPv4TCP     = 1 << 4
	RSSIPv4UDP     = 1 << 5
	RSSIPv4Other   = 1 << 7
	RSSIPv6        = 1 << 8
	RSSFragIPv6    = 1 << 9
	RSSIPv6TCP     = 1 << 10
	RSSIPv6UDP     = 1 << 11
	RSSIPv6Other   = 1 << 13
	RSSDefault     = RSSIPv4 | RSSFragIPv4 | RSSIPv4TCP | RSSIPv4UDP | RSSIPv4Other | RSSIPv6 | RSSFragIPv6 | RSSIPv6TCP | RSSIPv6UDP | RSSIPv6Other
	defaultRing    = 1024
	maxQueues      = 64
	defaultPrefix  = "edemux"
	defaultMemory  = 256
	defaultDataLen = 2048
)

// Link is a port's link state. Mbps is 0 when unknown.
type Link struct {
	Up, FullDuplex, Autoneg bool
	Mbps                    uint32
}

// Stats are a port's basic counters. Missed were lost for want of descriptors,
// NoMbuf for want of mbufs.
type Stats struct {
	RxPackets, TxPackets, RxBytes, TxBytes uint64
	Missed, RxErrors, TxErrors, NoMbuf     uint64
}

// XStat is an extended counter.
type XStat struct {
	Name  string
	Value uint64
}

// RxStats are a receive queue's own counters. Linearised frames came in several
// mbufs; of these Cut did not fit MaxFrame and end early.
type RxStats struct {
	Polls, Empty, Packets, Bytes, Linearised, Cut uint64
}

// TxStats are a transmit queue's own counters. Refused packets were not taken by
// the device and are freed.
type TxStats struct {
	Sent, Bytes, Refused, Flushes uint64
}

// FeedStats count what a Feeder did and why it waited.
type FeedStats struct {
	Fed, RingFull, PoolEmpty uint64
}

// Csum is what the device found about a frame's checksums.
type Csum uint8

// Csum bits; none set: the device did not look.
const (
	CsumIPGood Csum = 1 << iota
	CsumIPBad
	CsumL4Good
	CsumL4Bad
)

// PanicError is a panic on an lcore, with the stack it happened on.
type PanicError struct {
	Lcore int
	Value any
	Stack string
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("lcore %d: panic: %v\n%s", e.Lcore, e.Value, e.Stack)
}

// explain makes one clause of what DPDK logged about a failure: its first lines,
// where it went wrong, without those that only pass the failure up.
func explain(log string) string {
	var said, passed []string
	for _, l := range strings.Split(log, "\n") {
		l = strings.Join(strings.Fields(l), " ")
		switch {
		case l == "" || slices.Contains(said, l):
		case strings.Contains(l, "Failed to attach device") || strings.Contains(l, "Driver cannot attach"):
			passed = append(passed, l)
		default:
			said = append(said, l)
		}
	}
	if len(said) == 0 {
		said = passed
	}
	return strings.Join(said[:min(len(said), 3)], "; ")
}

// HashConfig describes an rte_hash.
type HashConfig struct {
	Name     string
	KeyLen   int // bytes
	Entries  uint32
	LockFree bool // RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF: readers without a lock beside a writer
}
