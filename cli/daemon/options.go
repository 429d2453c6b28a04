package daemon

import (
	"io"
	"log/slog"

	"edemux/cli/config"
	"edemux/cli/control"
	"edemux/dataplane"
	"edemux/dataplane/port"
)

// Options are the flags of `edemux run`.
type Options struct {
	Config    string
	Sets      []string
	EAL       []string // what follows --
	ReadOnly  string   // path of a second socket that changes nothing
	Log       string   // auto, text or json
	Recorder  bool
	UntilEnd  bool // stop when every capture has come to its end
	Quiet     bool // no final accounts
	Version   string
	DPDK      string // its version
	Stdout    io.Writer
	Stderr    io.Writer
	CrashDir  string          // where the flight recorder goes after a crash; "": the folder for temporary files
	onOpen    func(d *Daemon) // for tests, before anything runs
	onStarted func(d *Daemon) // for tests
}

// DPDKOptions are what opens the ports with a DPDK source.
type DPDKOptions struct {
	Config *config.Config
	EAL    []string // further EAL arguments: those of the configuration, then those behind --
	Ports  []DPDKPort
	Lcores []int // CPUs of the polling lcores; -1: the backend chooses
	Log    *slog.Logger
}

// DPDKPort is a port to open: Index in the configuration, the device string,
// and the CPU number of each queue.
type DPDKPort struct {
	Index  uint16
	Name   string
	Device string
	MAC    []byte // nil: take the device's
	CPUs   []uint16
}

// Backend runs ports and lcores other than our own.
type Backend interface {
	// Ports are the ports asked for, in that order.
	Ports() []port.Port
	// Bind gives a queue, of whatever kind, to polling lcore i, before Launch.
	Bind(i int, q port.RxQueue)
	// Tx is what a worker sends through whose ring is polled on that CPU; -1: one
	// that runs to completion.
	Tx(cpu int) dataplane.Tx
	// Telemetry answers DPDK's telemetry from snapshots.
	Telemetry(snapshot func() *control.Snapshot) error
	// KeepOff moves the runtime's threads away from the polling CPUs.
	KeepOff()
	// CPU is where polling lcore i runs.
	CPU(i int) int
	// Launch runs f on polling lcore i, in a thread that the backend knows.
	Launch(i int, f func()) error
	// Clock is the clock of the lcores, ns since the Unix epoch, never going back.
	Clock() func() int64
	// Close ends the backend; its lcores have returned and its ports are closed. It
	// fails when packet memory did not come back.
	Close() error
}

// forwarder is a receive queue that sends packets on.
type forwarder interface {
	// Forward sends frame i of the burst in hand through an interface of a port.
	Forward(i int, l3 uint32, port uint16, iface string)
}

// OpenDPDK opens ports with a DPDK source. It is nil in a program without DPDK.
var OpenDPDK func(DPDKOptions) (Backend, error)
