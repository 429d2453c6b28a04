// Package setup turns a configuration into an engine, for every command that
// runs one: replay, explain, run, bench.
//
// Job: choose secret and match mode, make flow tables, build sockets, apply
// --set and --local, and carry out the commands that change a running engine.
// Order: Open, then ports as they appear, then commands between bursts.
// Threads: one control goroutine. Kernel counterpart: none.
package setup

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"edemux/cli/config"
	"edemux/cli/exit"
	"edemux/dataplane"
	"edemux/dataplane/capture"
	"edemux/dataplane/packet"
	"edemux/demux"
	"edemux/flowtable"
)

// Options say what to open.
type Options struct {
	File    string   // configuration; "": the default one
	Sets    []string // --set
	Secret  string   // --secret, 32 hex digits
	Local   string   // --local
	Command string   // for error messages
	Replay  bool     // decisions repeat: constant secret, linux match, no look-ahead
	Live    bool     // the caller polls the rings of workers (RingWorkers)
}

// Host is an engine with everything around it.
type Host struct {
	Config  *config.Config
	Builder *demux.Builder
	Engine  *dataplane.Engine
	Lcore   *dataplane.Lcore   // for commands with a single walking thread
	Ports   *capture.PortNames // numbers of ports; grows without -c
	Assumed string             // which side was taken as local, one line

	opts     Options
	secrets  flowtable.Secret
	flowsSum [32]byte // of the flows file, in run
	command  string
	anyPort  bool // no port is configured: each port of the captures gets an interface
	known    int  // ports below this number have an interface
	queues   []Queues
	tables   []*flowtable.Table
	rings    []*dataplane.Worker
	tx       func(cpu int) dataplane.Tx // nil: workers send nothing
	stop     atomic.Bool
	polling  sync.WaitGroup
}

// Queues are the receive queues of a port: the CPU number of each.
type Queues struct{ CPUs []uint16 }

// CPU is the CPU of queue q. Captures may name queues that the configuration
// does not have: their number is taken as the CPU.
func (q Queues) CPU(n uint16) uint16 {
	if int(n) < len(q.CPUs) {
		return q.CPUs[n]
	}
	return n
}

// replaySecret makes replays repeat; a secret it is not.
var replaySecret = flowtable.Secret{
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
}

// Open loads the configuration and makes the engine. Errors are usage errors.
func Open(o Options) (*Host, error) {
	h := &Host{opts: o, command: o.Command}
	if err := h.load(o); err != nil {
		return nil, exit.AsUsage(err)
	}
	h.anyPort = len(h.Config.Ports) == 0
	secret, err := h.secret(o)
	if err != nil {
		return nil, err
	}
	h.secrets = secret
	h.Builder = demux.NewBuilder(secret)
	local, err := h.localSide(o)
	if err != nil {
		return nil, err
	}
	if err := config.Build(h.Config, h.Builder); err != nil {
		return nil, exit.AsUsage(err)
	}
	h.Builder.SetMatchExact(h.exact(o.Replay))
	if err := h.makeTables(); err != nil {
		return nil, err
	}
	var names []string
	for _, p := range h.Config.Ports {
		names = append(names, p.Name)
	}
	h.Ports, h.known = capture.NewPortNames(names...), len(names)
	h.Engine, err = dataplane.New(dataplane.Config{
		Hasher: h.Builder.Hasher, Secret: secret, Builder: h.Builder, Tables: h.tables,
		Ports: h.ports(), Workers: h.workers(o.Replay), Parse: h.ParseOptions(),
		FragBytes: h.Config.Limits.FragBytes, LocalAuto: local, LookAhead: !o.Replay,
	})
	if err != nil {
		return nil, exit.AsUsage(err)
	}
	h.Lcore = h.Engine.NewLcore()
	if o.Live {
		h.flowsSum = digest(h.Config)
	} else {
		for _, w := range h.rings {
			h.polling.Go(func() { w.Poll(&h.stop) })
		}
	}
	return h, nil
}

func (h *Host) load(o Options) (err error) {
	h.Config = config.Default()
	if o.File != "" {
		if h.Config, err = config.Load(o.File); err != nil {
			return err
		}
	}
	for _, s := range o.Sets {
		if err := h.Config.Set(s); err != nil {
			return err
		}
	}
	return nil
}

// secret is --secret, else that of the configuration, else a constant in
// replay and a random one otherwise.
func (h *Host) secret(o Options) (s flowtable.Secret, err error) {
	switch {
	case o.Secret != "":
		if s, err = config.ParseSecret(o.Secret); err != nil {
			return s, exit.Usagef("%s: --secret: %v", o.Command, err)
		}
	case h.Config.Secret != nil:
		s = *h.Config.Secret
	case o.Replay:
		s = replaySecret
	default:
		_, err = rand.Read(s[:])
	}
	return s, err
}

func (h *Host) exact(replay bool) bool {
	switch h.Config.Match {
	case config.MatchLinux:
		return false
	case config.MatchExact:
		return true
	}
	return !replay
}

// localSide applies --local. It returns the resolver of `auto`, nil otherwise.
func (h *Host) localSide(o Options) (*dataplane.LocalAuto, error) {
	c, flag := h.Config, o.Local
	if flag == "" && o.File == "" {
		flag = "auto"
	}
	switch flag {
	case "":
		h.Assumed = "as configured in " + c.File
		return nil, nil
	case "auto":
		h.Assumed = "guessed per conversation (--local auto)"
		h.everyLocal()
		return dataplane.NewLocalAuto(c.Limits.Conversations), nil
	case "all":
		h.Assumed = "every destination (--local all)"
		h.everyLocal()
		return nil, nil
	}
	var local []netip.Prefix
	for _, s := range strings.Split(flag, ",") {
		p, err := parsePrefix(strings.TrimSpace(s))
		if err != nil {
			return nil, exit.Usagef("%s: --local: %s: want auto, all, or addresses and prefixes such as 10.0.0.1,2001:db8::/64", h.command, s)
		}
		local = append(local, p)
	}
	h.Assumed = flag + " (--local)"
	for i := range c.VRFs {
		c.VRFs[i].EveryLocal, c.VRFs[i].Local = false, local
	}
	return nil, nil
}

func (h *Host) everyLocal() {
	for i := range h.Config.VRFs {
		h.Config.VRFs[i].EveryLocal, h.Config.VRFs[i].Local = true, nil
	}
}

func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err == nil && p != p.Masked() {
		err = fmt.Errorf("host bits set")
	}
	return p, err
}

// ParseOptions are the checks of the configuration.
func (h *Host) ParseOptions() packet.Options {
	return packet.Options{VerifyIP: h.Config.Checksums.IP, VerifyL4: h.Config.Checksums.L4}
}
