package dpdkport

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"edemux/dataplane/capture"
	"edemux/dataplane/dpdk"
	"edemux/dataplane/packet"
)

// Spec is a device to open as port Index of the configuration.
type Spec struct {
	Index  uint16
	Name   string
	Device string   // EAL device string
	MAC    []byte   // what the port answers to; nil: the device's address
	CPUs   []uint16 // CPU number of each receive queue, at least one
}

// Plan says what is opened and what for, which decides about memory.
type Plan struct {
	Specs     []Spec
	Lcores    int                 // threads that poll
	Threads   int                 // threads that poll rings of workers
	RingSlots int                 // sum of the sizes of those rings
	Burst     int                 // packets per poll; 0: the most
	Stacks    map[string][]uint16 // VIDs of each sub-interface, outermost first
}

const (
	rxDescriptors = 1024
	txDescriptors = 512
	normalMTU     = 1500
	normalRoom    = 2048
)

// txQueues is how many transmit queues a port should have: one for each lcore, and
// some for worker threads, of which more may come while it runs.
func (p *Plan) txQueues() int { return p.Lcores + max(1, p.Threads) }

// Pools are the measures of one pool per port.
func (p *Plan) Pools() (all []dpdk.PoolSize) {
	for i := range p.Specs {
		s := &p.Specs[i]
		room := dataRoom(s.Device)
		n := dpdk.PoolNeed{
			RxQueues: len(s.CPUs), RxDesc: rxDescriptors,
			// Packets of this port may wait in the transmit queues of each port.
			TxQueues: p.txQueues() * len(p.Specs), TxDesc: txDescriptors,
			Lcores: p.Lcores + p.Threads, Burst: dpdk.MaxBurst, RingSlots: p.RingSlots,
			Reassembly: held(s.Device, max(room, normalRoom)), MTU: normalMTU, DataRoom: room, NUMA: numa(s.Device),
		}
		all = append(all, dpdk.SizePool(n))
	}
	return all
}

// args are the arguments of a device string: all values of each key.
func args(device string) map[string][]string {
	out := map[string][]string{}
	for _, a := range strings.Split(device, ",")[1:] {
		k, v, _ := strings.Cut(a, "=")
		out[k] = append(out[k], v)
	}
	return out
}

// dataRoom is what an mbuf must hold: net_af_packet copies each frame into one,
// so with framesz=N it takes that. 0: the usual.
func dataRoom(device string) int {
	if v := args(device)["framesz"]; v != nil && strings.Contains(device, "net_af_packet") {
		if n, err := strconv.Atoi(v[0]); err == nil && n > normalRoom {
			return n
		}
	}
	return 0
}

// held is how many mbufs the device keeps for good: net_pcap with infinite_rx=1
// reads its captures into them.
func held(device string, room int) (n int) {
	a := args(device)
	if v := a["infinite_rx"]; v == nil || v[0] == "0" {
		return 0
	}
	for _, f := range a["rx_pcap"] {
		n += mbufsOf(f, room)
	}
	return n
}

// mbufsOf counts the mbufs that hold the frames of a capture. A capture that cannot
// be read is the device's to complain about.
func mbufsOf(file string, room int) (n int) {
	r, err := capture.Open(file, capture.Options{})
	if err != nil {
		return 0
	}
	defer r.Close()
	var f packet.Frame
	for {
		if r.Next(&f) != nil {
			return n
		}
		n += max(1, (len(f.Data)+room-1)/room)
	}
}

// numa is the node of a PCI device, 0 when it says none.
func numa(device string) int {
	address, _, _ := strings.Cut(strings.TrimPrefix(device, "pci:"), ",")
	if strings.Count(address, ":") == 1 {
		address = "0000:" + address
	}
	b, err := os.ReadFile(filepath.Join("/sys/bus/pci/devices", filepath.Base(address), "numa_node"))
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 0
	}
	return max(0, n)
}
