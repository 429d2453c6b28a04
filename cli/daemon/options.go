package daemon

import (
	"io"

	"edemux/cli/config"
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
	Config  *config.Config
	EAL     []string // further EAL arguments: those of the configuration, then those behind --
	Ports   []DPDKPort
	Workers []*dataplane.Worker // whose Tx may be set
	Lcores  []int               // CPUs of the polling lcores
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
	// Launch runs f on polling lcore i, in a thread that the backend knows. failed
	// gets what f panicked with.
	Launch(i int, f func()) error
	// Clock is the clock of the lcores, ns since the Unix epoch, never going back.
	Clock() func() int64
	// Close ends the backend; its lcores have returned.
	Close() error
}

// OpenDPDK opens ports with a DPDK source. It is nil in a program without DPDK.
var OpenDPDK func(DPDKOptions) (Backend, error)
