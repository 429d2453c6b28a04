// Package command is the grammar of edemux's commands: what `edemux ctl`, the
// shell and `--script` files accept, from one table (table.go).
//
// Job: turn a line into a typed Command, or into an error that points at the
// word that is wrong; know what may come next, for `?` and for completion.
// It executes nothing and knows no running engine.
// Threads: the table is constant; every function may be called from anywhere.
package command

import (
	"net/netip"
	"regexp"
	"time"
)

// Command is one of the types below.
type Command interface{ command() }

// EarlyDemux shows (On nil) or sets early-demux switches.
type EarlyDemux struct {
	Proto string // "ip", "tcp", "udp"; "" shows all three, setting needs one
	On    *bool
	VRF   string // "": all VRFs
}

// Sysctl shows or sets a sysctl. All names and values have passed CheckSysctl.
type Sysctl struct {
	Name  string // without `net.ipv4.`; "" shows all
	Value string
	Set   bool
	VRF   string // "": all VRFs
}

// Show prints a table of objects or counters.
type Show struct {
	What   string // "vrfs", "flows", ...: the second word of the command in full
	Name   string // one object; "": all
	VRF    string // flows, drops, mib, sockets: of this VRF; "": all
	Filter string // flows: an expression of dataplane/filter, known to compile
	Limit  int    // flows: rows at most; 0: the server's choice
	After  string // flows: cursor that an earlier page returned
}

// Explain asks which socket would get a packet, and why.
type Explain struct {
	Dev      string // interface it comes in on; "": the first
	Proto    string // "tcp" or "udp"
	Src, Dst netip.AddrPort
}

// Bind creates a socket.
type Bind struct {
	Spec string // YAML flow mapping, as an entry of `sockets` in the configuration
	Col  int    // column of Spec in the line, from 1, for errors in it
}

// Connect connects an existing socket, or creates a connected one from Spec.
type Connect struct {
	Socket string
	Faddr  netip.AddrPort
	Laddr  netip.Addr // local address a wildcard-bound socket takes; invalid: as configured
	Spec   string     // "" when Socket is given
	Col    int
}

// Close closes a socket, or all sockets of a name with `/N` members.
type Close struct{ Socket string }

// ClearCounters makes later displays count from now.
type ClearCounters struct{}

// Capture writes matching packets with their decisions as pcapng.
type Capture struct {
	Out      string // file, "-" or "": standard output of the client
	Count    int    // stop after so many packets; 0: no such limit
	Duration time.Duration
	Filter   string // an expression of dataplane/filter, known to compile
}

// Recorder dumps the flight recorder as pcapng.
type Recorder struct{ Out string }

// Reload applies the configuration file again.
type Reload struct{}

// Shutdown drains and stops the daemon.
type Shutdown struct{}

// Help explains the commands that begin with Topic.
type Help struct{ Topic string }

// Exit leaves the shell.
type Exit struct{}

func (EarlyDemux) command()    {}
func (Sysctl) command()        {}
func (Show) command()          {}
func (Explain) command()       {}
func (Bind) command()          {}
func (Connect) command()       {}
func (Close) command()         {}
func (ClearCounters) command() {}
func (Capture) command()       {}
func (Recorder) command()      {}
func (Reload) command()        {}
func (Shutdown) command()      {}
func (Help) command()          {}
func (Exit) command()          {}

// Line is a command with what surrounds it in the shell.
type Line struct {
	Command Command        // nil for an empty line
	Text    string         // the command without `watch` and pipes
	JSON    bool           // --json or `| json`
	Match   *regexp.Regexp // `| match RE`: print only lines with a match
	Watch   time.Duration  // repeat at this interval; 0: once
}

// Where says which front ends take a command.
type Where uint8

// Front ends. The shell takes what `edemux ctl` takes, and more.
const (
	InCtl Where = 1 << iota
	InShell
	InScript
)

// Kind is what a word of a line stands for: what completes it.
type Kind uint8

// Kinds of words. The objects of the first group live in the running engine.
const (
	KindVRF Kind = iota
	KindSocket
	KindGroup
	KindWorker
	KindIface
	KindPort
	KindReason

	KindWord // one of a fixed list
	KindSysctl
	KindAddr
	KindAddrPort
	KindSpec // YAML flow mapping
	KindFilter
	KindFile
	KindNumber
	KindDuration
	KindText
	KindCommand
)

var kindNames = [...]string{
	KindVRF: "vrf", KindSocket: "socket", KindGroup: "group", KindWorker: "worker", KindIface: "iface", KindPort: "port",
	KindReason: "reason", KindWord: "word", KindSysctl: "sysctl", KindAddr: "addr", KindAddrPort: "addrport",
	KindSpec: "spec", KindFilter: "filter", KindFile: "file", KindNumber: "number", KindDuration: "duration",
	KindText: "text", KindCommand: "command",
}

// String is the kind's name in JSON and debug output.
func (k Kind) String() string { return kindNames[k] }

// Live reports whether words of this kind name objects of the running engine.
func (k Kind) Live() bool { return k <= KindReason }
