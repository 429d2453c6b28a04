package control

import (
	"time"
)

// Changed answers whatever changes the engine. Lcores use Epoch from their
// next burst on; GET /v1/lcores shows what each has come to.
type Changed struct {
	Epoch uint64   `json:"epoch"`
	VRFs  []string `json:"vrfs,omitempty"` // that it concerned, where that is a question
	Did   string   `json:"did"`            // one sentence
}

// EarlyDemux answers GET /v1/early-demux: the switches by VRF.
type EarlyDemux struct {
	Epoch uint64        `json:"epoch"`
	VRFs  []VRFSwitches `json:"vrfs"`
}

// VRFSwitches are the switches of one VRF.
type VRFSwitches struct {
	VRF string `json:"vrf"`
	Switches
}

// SetEarlyDemux is the body of PUT /v1/early-demux.
type SetEarlyDemux struct {
	Proto string `json:"proto"` // ip, tcp or udp
	On    bool   `json:"on"`
	VRF   string `json:"vrf,omitempty"` // "": all
}

// Sysctls answers GET /v1/sysctl.
type Sysctls struct {
	Epoch  uint64        `json:"epoch"`
	Values []SysctlValue `json:"values"`
}

// SysctlValue is one sysctl. VRF is "" for those that exist once.
type SysctlValue struct {
	VRF      string `json:"vrf"`
	Name     string `json:"name"`
	Value    string `json:"value"`
	ReadOnly bool   `json:"read_only"`
}

// SetSysctl is the body of PUT /v1/sysctl.
type SetSysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	VRF   string `json:"vrf,omitempty"` // "": all
}

// Bind is the body of POST /v1/sockets: a YAML mapping as an entry of `sockets`
// in the configuration.
type Bind struct {
	Spec string `json:"spec"`
}

// Connect is the body of POST /v1/connect: an existing Socket with Remote, or
// the Spec of a new one.
type Connect struct {
	Socket string `json:"socket,omitempty"`
	Remote string `json:"remote,omitempty"` // ADDR:PORT
	Laddr  string `json:"laddr,omitempty"`  // local address of a wildcard-bound socket
	Spec   string `json:"spec,omitempty"`
}

// Explain is the body of POST /v1/explain.
type Explain struct {
	Proto string `json:"proto"` // tcp or udp
	Src   string `json:"src"`   // ADDR:PORT
	Dst   string `json:"dst"`
	Dev   string `json:"dev,omitempty"` // interface it comes in on; "": the first
}

// Explained answers POST /v1/explain: the steps of the decision.
type Explained struct {
	Epoch   uint64        `json:"epoch"`
	Steps   []ExplainStep `json:"steps"`
	Verdict string        `json:"verdict"`
	Reason  string        `json:"reason"`
	Path    string        `json:"path"`
	Socket  string        `json:"socket"`
	Worker  string        `json:"worker"`
	Text    string        `json:"text"` // the same for a terminal of 80 columns
}

// ExplainStep is one step: what was looked at, and what was found.
type ExplainStep struct {
	Step string `json:"step"`
	Text string `json:"text"`
}

// Config answers GET /v1/config.
type Config struct {
	Epoch   uint64    `json:"epoch"`
	File    string    `json:"file"`
	Loaded  time.Time `json:"loaded"`  // when the file was last applied
	Text    string    `json:"text"`    // of the file, as it was applied
	Changes []string  `json:"changes"` // commands since then, oldest first
	Dropped int       `json:"dropped"` // older changes that are not listed
}

// Version answers GET /v1/version.
type Version struct {
	API     string    `json:"api"`
	Edemux  string    `json:"edemux"`
	Go      string    `json:"go"`
	DPDK    string    `json:"dpdk"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Reloaded answers POST /v1/reload: what was done, a line each. On failure
// nothing was; the error says why.
type Reloaded struct {
	Epoch     uint64   `json:"epoch"`
	Did       []string `json:"did"`
	Unchanged bool     `json:"unchanged"`
	Warnings  []string `json:"warnings"`
}

// Objects answers GET /v1/objects: names of live objects, for completion.
type Objects struct {
	Kind  string   `json:"kind"`
	Names []string `json:"names"`
}

// FlowQuery asks for flows.
type FlowQuery struct {
	VRF    string // "": all
	Filter string // an expression of dataplane/filter
	Limit  int    // rows at most; 0: DefaultRows
	After  string // cursor of an earlier page
}

// SocketQuery asks for sockets.
type SocketQuery struct {
	Name  string // NAME/N, or NAME for all its members; "": all
	VRF   string
	Limit int
	After string
}

// CaptureQuery asks for a live capture.
type CaptureQuery struct {
	Filter   string
	Count    int           // packets; 0: no such limit
	Duration time.Duration // 0: MaxCapture
}

// DumpStats says what a pcapng answer did not hold.
type DumpStats struct {
	Missed uint64 // packets that matched and found the ring full
}

// Rows of a page: the default and the most.
const (
	DefaultRows = 1000
	MaxRows     = 10000
)

// MaxCapture bounds a live capture in time.
const MaxCapture = 10 * time.Minute
