package control

import "time"

// DefaultSocket is where the daemon listens unless the configuration says
// otherwise.
const DefaultSocket = "/run/edemux/edemux.sock"

// Head stands in every answer about the running engine.
type Head struct {
	Snapshot uint64    `json:"snapshot"` // answers with the same id show the same counts
	Epoch    uint64    `json:"epoch"`    // of the view in force; rises with every change
	Time     time.Time `json:"time"`     // when the counts were taken
}

// Verdicts are frames by their fate; they sum to the frames.
type Verdicts struct {
	Deliver uint64 `json:"deliver"`
	Drop    uint64 `json:"drop"`
	Hold    uint64 `json:"hold"`
	Forward uint64 `json:"forward"`
	Egress  uint64 `json:"egress"`
	Punt    uint64 `json:"punt"`
}

// Sum is the number of frames.
func (v *Verdicts) Sum() uint64 {
	return v.Deliver + v.Drop + v.Hold + v.Forward + v.Egress + v.Punt
}

// Early says what early demux of one protocol looked at and found.
type Early struct {
	Tried        uint64 `json:"tried"`
	Hit          uint64 `json:"hit"`
	RouteSkipped uint64 `json:"route_skipped"` // hits that saved the route lookup
}

// EarlyCounts is early demux of both protocols, and why it was not tried.
type EarlyCounts struct {
	TCP      Early             `json:"tcp"`
	UDP      Early             `json:"udp"`
	NotTried map[string]uint64 `json:"not_tried"`
}

// Switches are the early-demux switches of a VRF.
type Switches struct {
	IP  bool `json:"ip"`
	TCP bool `json:"tcp"`
	UDP bool `json:"udp"`
}

// Table is a flow table as one VRF sees it: sizes of the table, flows of the VRF.
type Table struct {
	Shared     bool   `json:"shared"` // with default's
	Buckets    uint32 `json:"buckets"`
	MaxBuckets uint32 `json:"max_buckets"`
	Limit      uint64 `json:"limit"` // most flows of the table
	Flows      uint64 `json:"flows"`
	NewSynRecv uint64 `json:"new_syn_recv"`
	TimeWait   uint64 `json:"time_wait"`
	Bytes      uint64 `json:"bytes"` // memory of the whole table
	Growing    bool   `json:"growing"`
	MaxDepth   uint32 `json:"max_depth"` // longest chain seen, flows
}

// VRF is one VRF with its switches, tables and counts. "-" holds what was
// decided before a VRF was known, or in one that is gone, and has counts only.
type VRF struct {
	Name       string            `json:"name"`
	Interfaces []string          `json:"interfaces"`
	Switches   Switches          `json:"switches"`
	TCP        Table             `json:"tcp_table"`
	UDP        Table             `json:"udp_table"`
	Frames     uint64            `json:"frames"`
	PPS        float64           `json:"pps"`
	Verdicts   Verdicts          `json:"verdicts"`
	Paths      map[string]uint64 `json:"paths"`
	Drops      map[string]uint64 `json:"drops"`
	Early      EarlyCounts       `json:"early_demux"`
}

// Worker is one worker and what it was given.
type Worker struct {
	Name    string  `json:"name"` // POOL/INDEX
	Handler string  `json:"handler"`
	Packets uint64  `json:"packets"` // multicast copies included
	Bytes   uint64  `json:"bytes"`
	Full    uint64  `json:"full"` // packets lost because the ring was full
	PPS     float64 `json:"pps"`
	Ring    int     `json:"ring"`        // items that fit; 0: runs to completion on the polling lcore
	RingLen int     `json:"ring_queued"` // items that waited at the time of the snapshot
	CPU     int     `json:"cpu"`         // that polls the ring; -1: none, or not pinned
}

// Group is a reuseport group and how it chose.
type Group struct {
	Name     string            `json:"name"`
	Proto    string            `json:"proto"`
	Members  []Member          `json:"members"`
	Program  bool              `json:"program"` // a program chooses
	By       map[string]uint64 `json:"by"`
	Selected uint64            `json:"selected"`
}

// Member is one member of a group by its present index. Selected counts the
// choices of that index, whoever held it then.
type Member struct {
	Index    int    `json:"index"`
	Socket   string `json:"socket"`
	Worker   string `json:"worker"`
	Selected uint64 `json:"selected"`
}

// Port is a port with its queues.
type Port struct {
	Name     string   `json:"name"`
	Source   string   `json:"source"` // pcap:FILE, or the DPDK device
	MAC      string   `json:"mac"`    // "" when unknown
	Link     string   `json:"link"`   // up, down or "" for a capture
	Frames   uint64   `json:"frames"`
	PPS      float64  `json:"pps"`
	Verdicts Verdicts `json:"verdicts"`
	Missed   uint64   `json:"missed"` // lost before they reached a queue
	Queues   []Queue  `json:"queues"`

	Sent      uint64 `json:"sent"`
	SentBytes uint64 `json:"sent_bytes"`
	Refused   uint64 `json:"send_refused"` // given to the device, which did not take them
	Unsent    uint64 `json:"unsent"`       // came in here and could not be turned around or sent on
	Expired   uint64 `json:"ttl_expired"`  // came in here to be forwarded and had no hop left
}

// Queue is a receive queue.
type Queue struct {
	Index   int    `json:"index"`
	CPU     int    `json:"cpu"` // CPU number of its packets
	Lcore   int    `json:"lcore"`
	Frames  uint64 `json:"frames"`
	Bytes   uint64 `json:"bytes"`
	Passes  uint64 `json:"passes"` // finished passes of a capture
	Stalled uint64 `json:"stalled"`
	Done    bool   `json:"done"` // a capture that has come to its end
}

// Lcore is a polling thread.
type Lcore struct {
	Index       int      `json:"index"`
	CPU         int      `json:"cpu"`   // -1: not pinned
	State       string   `json:"state"` // polling, stopped, failed
	Epoch       uint64   `json:"epoch"` // of the view it uses
	Queues      []string `json:"queues"`
	Frames      uint64   `json:"frames"`
	Bytes       uint64   `json:"bytes"`
	PPS         float64  `json:"pps"`
	Bursts      uint64   `json:"bursts"`
	EmptyPolls  uint64   `json:"empty_polls"`
	BusyNs      uint64   `json:"busy_ns"` // in bursts
	IdleNs      uint64   `json:"idle_ns"` // in polls that brought nothing, naps included
	Naps        uint64   `json:"naps"`
	Busy        float64  `json:"busy"`           // share of the last second
	Fill        float64  `json:"burst_fill"`     // frames per burst since the last clear
	FillCounts  []uint64 `json:"burst_sizes"`    // bursts by size, see FillBounds
	MaxGapNs    uint64   `json:"max_gap_ns"`     // between two polls, since the start
	RecentGapNs uint64   `json:"recent_gap_ns"`  // in the last 10 to 20 s
	Computed    uint64   `json:"hashes"`         // flow hashes computed
	Saved       uint64   `json:"hashes_saved"`   // that an eager selection would have computed
	Recorded    uint64   `json:"recorded"`       // decisions in the flight recorder since the start
	Contended   uint64   `json:"contended"`      // buckets another lcore held
	Created     uint64   `json:"flows_created"`  //
	Removed     uint64   `json:"flows_removed"`  //
	Evicted     uint64   `json:"flows_evicted"`  //
	TableFull   uint64   `json:"table_full"`     //
	RSTIgnored  uint64   `json:"rst_ignored"`    // RFC 5961
	TWFull      uint64   `json:"time_wait_full"` //
}

// FillBounds are the largest burst sizes that the elements of
// Lcore.FillCounts count.
var FillBounds = [...]int{1, 2, 4, 8, 16, 32, 64}

// Drop is the count of one reason.
type Drop struct {
	Reason string `json:"reason"`
	VRF    string `json:"vrf"`
	Frames uint64 `json:"frames"`
	Hint   string `json:"hint"` // what it means, in one sentence
}

// Totals are the accounts of all lcores together.
type Totals struct {
	Frames   uint64            `json:"frames"`
	Bytes    uint64            `json:"bytes"`
	Copies   uint64            `json:"copies"`
	PPS      float64           `json:"pps"`
	Verdicts Verdicts          `json:"verdicts"`
	Paths    map[string]uint64 `json:"paths"`
	Early    EarlyCounts       `json:"early_demux"`
	Hashes   uint64            `json:"hashes"`
	Saved    uint64            `json:"hashes_saved"`
	Flows    uint64            `json:"flows"`
}

// Snapshot is everything that is counted, as of one moment: what `top` shows
// and what all other answers with the same id are taken from.
type Snapshot struct {
	Head
	Uptime  float64           `json:"uptime_s"`
	Totals  Totals            `json:"totals"`
	Lcores  []Lcore           `json:"lcores"`
	VRFs    []VRF             `json:"vrfs"`
	Workers []Worker          `json:"workers"`
	Groups  []Group           `json:"groups"`
	Ports   []Port            `json:"ports"`
	Drops   []Drop            `json:"drops"`
	MIB     map[string]uint64 `json:"mib"`
}

// Answers of the show commands: the part of the snapshot that was asked for.
type (
	// VRFs answers GET /v1/vrfs.
	VRFs struct {
		Head
		VRFs []VRF `json:"vrfs"`
	}
	// Workers answers GET /v1/workers.
	Workers struct {
		Head
		Workers []Worker `json:"workers"`
	}
	// Groups answers GET /v1/groups.
	Groups struct {
		Head
		Groups []Group `json:"groups"`
	}
	// Ports answers GET /v1/ports.
	Ports struct {
		Head
		Ports []Port `json:"ports"`
	}
	// Lcores answers GET /v1/lcores.
	Lcores struct {
		Head
		Lcores []Lcore `json:"lcores"`
	}
	// Drops answers GET /v1/drops.
	Drops struct {
		Head
		Drops []Drop `json:"drops"`
		Total uint64 `json:"total"`
	}
	// MIB answers GET /v1/mib: the kernel's counters, all VRFs together.
	MIB struct {
		Head
		Counters map[string]uint64 `json:"counters"`
	}
	// Counters answers GET /v1/counters: the registry, sample by sample, as
	// Prometheus gets it.
	Counters struct {
		Head
		Counters []Sample `json:"counters"`
	}
)

// Sample is one value of the registry.
type Sample struct {
	Name   string            `json:"name"` // as in Prometheus
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

// Socket is one socket.
type Socket struct {
	ID          uint32 `json:"id"`
	Name        string `json:"name"`
	Proto       string `json:"proto"` // tcp or udp
	Family      int    `json:"family"`
	Local       string `json:"local"`  // ADDR:PORT
	Remote      string `json:"remote"` // ADDR:PORT, "" unless connected
	State       string `json:"state"`  // listen, connected, bound
	VRF         string `json:"vrf"`    // that governs it
	Dev         string `json:"dev"`    // SO_BINDTODEVICE, "" when unbound
	Worker      string `json:"worker"`
	Group       string `json:"group"` // "" without one
	IncomingCPU int32  `json:"incoming_cpu"`
	Backlog     int    `json:"backlog"`
	UID         uint32 `json:"uid"`
}

// Sockets answers GET /v1/sockets. After is the cursor of the next page, ""
// on the last.
type Sockets struct {
	Head
	Sockets []Socket `json:"sockets"`
	Total   int      `json:"total"` // that exist
	After   string   `json:"after"`
}

// Flow is one entry of a flow table.
type Flow struct {
	VRF     string `json:"vrf"`
	Proto   string `json:"proto"`
	Local   string `json:"local"`  // ADDR:PORT of our side
	Remote  string `json:"remote"` // ADDR:PORT of the peer
	State   string `json:"state"`
	Socket  string `json:"socket"`
	Worker  string `json:"worker"`
	Dev     string `json:"dev"`        // bound device, "" for none
	Expires int64  `json:"expires_ms"` // -1: never
}

// Flows answers GET /v1/flows. Flows come in a fixed order (VRF, protocol,
// local end, remote end), so that pages neither repeat nor miss a flow that
// lives through all of them.
type Flows struct {
	Head
	Flows []Flow `json:"flows"`
	Total uint64 `json:"total"` // in the tables, matching or not
	After string `json:"after"` // cursor of the next page, "" on the last
}
