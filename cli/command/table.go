package command

// Word is one of a fixed list, with a line of help.
type Word struct{ Text, Help string }

// Arg is a positional argument.
type Arg struct {
	Name     string // as in the usage line
	Kind     Kind
	Words    []Word // KindWord
	Help     string
	Optional bool
	Rest     bool // takes all words to the end of the line
}

// Flag is an option, --NAME VALUE or --NAME=VALUE.
type Flag struct {
	Name  string // without the dashes
	Value string // name of its value in the usage line
	Kind  Kind
	Help  string
}

// Spec is one command of the table.
type Spec struct {
	Path     []string // its words
	Args     []Arg
	Flags    []Flag
	Where    Where
	Help     string
	Examples []string
	build    func(*match) (Command, error)
}

var (
	argVRF     = Arg{Name: "VRF", Kind: KindVRF, Optional: true, Help: "name of a VRF (`vrf NAME` when the name is a keyword); absent: all"}
	flagVRF    = Flag{"vrf", "NAME", KindVRF, "only this VRF"}
	flagFilter = Flag{"filter", "EXPR", KindFilter, "only what matches: udp and port 53"}
	flagOut    = Flag{"out", "FILE", KindFile, "pcapng file to write, - for standard output"}
)

func optional(name string, k Kind, help string) Arg {
	return Arg{Name: name, Kind: k, Optional: true, Help: help}
}

// Table is every command, sorted. `steer` and `drain` are not there yet.
var Table = []Spec{
	{
		Path: []string{"bind"}, Where: InCtl | InScript, build: buildBind,
		Args:     []Arg{{Name: "{SOCKET}", Kind: KindSpec, Help: "mapping as an entry of `sockets` in the configuration"}},
		Help:     "create a socket",
		Examples: []string{`bind {name: b, proto: udp, bind: "10.0.0.1:7001", worker: web/1}`},
	},
	{
		Path: []string{"capture"}, Where: InCtl, build: buildCapture,
		Args:  []Arg{{Name: "FILTER", Kind: KindFilter, Optional: true, Rest: true, Help: "only packets that match: udp and port 53"}},
		Flags: []Flag{flagOut, {"count", "N", KindNumber, "stop after N packets"}, {"duration", "TIME", KindDuration, "stop after a time such as 10s"}},
		Help:  "write packets with their decision as pcapng", Examples: []string{"capture --out dns.pcapng --count 100 udp port 53"},
	},
	{
		Path: []string{"clear", "counters"}, Where: InCtl, build: func(*match) (Command, error) { return ClearCounters{}, nil },
		Help: "count from now", Examples: []string{"clear counters"},
	},
	{
		Path: []string{"close"}, Where: InCtl | InScript, build: buildClose,
		Args: []Arg{{Name: "SOCKET", Kind: KindSocket, Help: "NAME/N for one member, NAME for all of them"}},
		Help: "close a socket", Examples: []string{"close b", "close web443/2"},
	},
	{
		Path: []string{"connect"}, Where: InCtl | InScript, build: buildConnect,
		Args: []Arg{
			{Name: "SOCKET|{SOCKET}", Kind: KindSocket, Help: "name of a socket, or a mapping that creates one"},
			{Name: "ADDR:PORT", Kind: KindAddrPort, Optional: true, Help: "the remote end, [ADDR]:PORT for IPv6"},
		},
		Flags:    []Flag{{"laddr", "ADDR", KindAddr, "local address of a wildcard-bound socket"}},
		Help:     "connect a socket",
		Examples: []string{"connect b 10.0.0.9:9000", `connect {name: c, proto: udp, connect: "[2001:db8::9]:53", worker: dns/0}`},
	},
	{
		Path: []string{"early-demux"}, Where: InCtl | InScript, build: buildEarlyDemux,
		Args: []Arg{
			{Name: "ip|tcp|udp", Kind: KindWord, Optional: true, Help: "which switch", Words: []Word{
				{"ip", "all of early demux, both families; meant when on or off stands alone"}, {"tcp", "TCP, both families"}, {"udp", "UDP, both families"}}},
			{Name: "on|off", Kind: KindWord, Optional: true, Help: "absent: show", Words: []Word{
				{"on", "look flows up before routing"}, {"off", "route first"}}},
			argVRF,
		},
		Help: "show or set the early-demux switches", Examples: []string{"early-demux", "early-demux udp off red"},
	},
	{
		Path: []string{"exit"}, Where: InShell, Help: "leave the shell", build: func(*match) (Command, error) { return Exit{}, nil },
	},
	{
		Path: []string{"explain"}, Where: InCtl, build: buildExplain,
		Args: []Arg{
			{Name: "tcp|udp", Kind: KindWord, Help: "protocol", Words: []Word{{"tcp", "a SYN, or a segment of a known flow"}, {"udp", "a datagram"}}},
			{Name: "SADDR:SPORT", Kind: KindAddrPort, Help: "source, [ADDR]:PORT for IPv6"},
			{Name: "DADDR:DPORT", Kind: KindAddrPort, Help: "destination"},
		},
		Flags:    []Flag{{"dev", "IF", KindIface, "interface it comes in on"}},
		Help:     "which socket would get a packet, and why",
		Examples: []string{"explain udp 10.0.0.9:9000 10.0.0.1:53", "explain --dev eth0.10 tcp [2001:db8::9]:40000 [2001:db8::1]:443"},
	},
	{
		Path: []string{"help"}, Where: InCtl | InShell, build: buildHelp,
		Args: []Arg{{Name: "COMMAND", Kind: KindCommand, Optional: true, Rest: true, Help: "words of a command"}},
		Help: "explain commands", Examples: []string{"help", "help show flows"},
	},
	{
		Path: []string{"quit"}, Where: InShell, Help: "leave the shell", build: func(*match) (Command, error) { return Exit{}, nil },
	},
	{
		Path: []string{"recorder", "dump"}, Where: InCtl, build: buildRecorder, Flags: []Flag{flagOut},
		Help: "write the flight recorder as pcapng", Examples: []string{"recorder dump --out last.pcapng"},
	},
	{
		Path: []string{"reload"}, Where: InCtl, build: func(*match) (Command, error) { return Reload{}, nil },
		Help: "apply the configuration file again", Examples: []string{"reload"},
	},
	show("config", "the running configuration"),
	show("drops", "drops by reason", argVRF),
	{
		Path: []string{"show", "flows"}, Where: InCtl, build: buildShow, Args: []Arg{argVRF},
		Flags: []Flag{flagFilter, {"limit", "N", KindNumber, "at most N rows"}, {"after", "CURSOR", KindText, "go on where a page ended"}},
		Help:  "flows of the tables", Examples: []string{"show flows", "show flows red --filter 'udp and port 53' --limit 20"},
	},
	show("groups", "reuseport groups and their members", optional("GROUP", KindGroup, "one group")),
	show("lcores", "polling cores"),
	show("mib", "counters under their kernel names", argVRF),
	show("ports", "ports and queues", optional("PORT", KindPort, "one port")),
	showSockets(),
	show("version", "versions of edemux and DPDK"),
	show("vrfs", "VRFs, their switches and tables", argVRF),
	show("workers", "workers and their rings", optional("WORKER", KindWorker, "POOL or POOL/N")),
	{
		Path: []string{"shutdown"}, Where: InCtl, build: func(*match) (Command, error) { return Shutdown{}, nil },
		Help: "drain and stop the daemon", Examples: []string{"shutdown"},
	},
	{
		Path: []string{"sysctl"}, Where: InCtl | InScript, build: buildSysctl,
		Args: []Arg{
			{Name: "NAME[=VALUE]", Kind: KindSysctl, Optional: true, Help: "a sysctl; with a value: set it"},
			{Name: "HIGH", Kind: KindNumber, Optional: true, Help: "second port of ip_local_port_range"},
			argVRF,
		},
		Help: "show or set sysctls", Examples: []string{"sysctl", "sysctl udp_early_demux=0 red", `sysctl ip_local_port_range="32768 60999"`, "sysctl vrf red"},
	},
}

func show(what, help string, args ...Arg) Spec {
	return Spec{Path: []string{"show", what}, Where: InCtl, Args: args, Help: help, Examples: []string{"show " + what}, build: buildShow}
}

func showSockets() Spec {
	s := show("sockets", "sockets and their counters", optional("SOCKET", KindSocket, "NAME or NAME/N"))
	s.Flags = []Flag{flagVRF}
	return s
}

// groupHelp explains first words that lead to several commands.
var groupHelp = map[string]string{
	"show": "print objects and counters", "clear": "start counters again", "recorder": "the flight recorder",
}
