package shelltest

import (
	"time"

	"edemux/cli/control"
)

// Sample is the snapshot after n seconds of steady traffic: two VRFs, of which
// red has early demux of UDP off, two lcores, three workers, of which web/1
// loses packets.
func Sample(n int) *control.Snapshot {
	s := uint64(n)
	v := []control.VRF{sampleVRF("-", s), sampleVRF("default", s), sampleVRF("red", s)}
	out := &control.Snapshot{
		Head:   control.Head{Snapshot: 100 + s, Epoch: 7, Time: Epoch.Add(time.Duration(n) * time.Second)},
		Uptime: float64(n),
		VRFs:   v,
		Lcores: []control.Lcore{sampleLcore(0, 1, s), sampleLcore(1, 2, s)},
		Workers: []control.Worker{
			{Name: "dns/0", Handler: "count", Packets: 20000 * s, Bytes: 1800000 * s, PPS: 20000, CPU: -1},
			{Name: "web/0", Handler: "touch", Packets: 900000 * s, Bytes: 540000000 * s, PPS: 900000, Ring: 1024, RingLen: 12, CPU: 3},
			{Name: "web/1", Handler: "touch", Packets: 800000 * s, Bytes: 480000000 * s, Full: 1500 * s, PPS: 800000, Ring: 1024, RingLen: 1024, CPU: 4},
		},
		Groups: []control.Group{{
			Name: "web443", Proto: "tcp", By: map[string]uint64{"hash": 9 * s, "cpu": s}, Selected: 10 * s,
			Members: []control.Member{{Index: 0, Socket: "web443/0", Worker: "web/0", Selected: 6 * s}, {Index: 1, Socket: "web443/1", Worker: "web/1", Selected: 4 * s}},
		}},
		Ports: []control.Port{{
			Name: "eth0", Source: "pcap:trace.pcapng", Frames: 1725500 * s, PPS: 1725500, Verdicts: sum(v), MAC: "02:00:00:00:00:01",
			Queues: []control.Queue{{Index: 0, CPU: 0, Lcore: 0, Frames: 862750 * s, Bytes: 512000000 * s, Passes: s}, {Index: 1, CPU: 1, Lcore: 1, Frames: 862750 * s, Bytes: 512000000 * s, Passes: s, Done: true}},
		}},
		Drops: []control.Drop{
			{Reason: "NO_SOCKET", VRF: "default", Frames: 3000 * s, Hint: "no socket is bound to this address and port in the packet's VRF, or none that accepts packets of that device"},
			{Reason: "NO_VRF", VRF: "-", Frames: 500 * s, Hint: "no interface takes this tag stack"},
			{Reason: "SOCKET_RCVBUFF", VRF: "red", Frames: 1500 * s, Hint: "the worker's ring is full"},
		},
		MIB: map[string]uint64{"IpInReceives": 1725000 * s, "IpInDelivers": 1720000 * s, "UdpNoPorts": 3000 * s, "TcpInErrs": 0},
	}
	out.Totals = control.Totals{
		Frames: 1725500 * s, Bytes: 1024000000 * s, PPS: 1725500, Verdicts: sum(v), Paths: map[string]uint64{"early": 1600000 * s, "established": 120000 * s},
		Flows: 100000, Hashes: 1720000 * s,
	}
	return out
}

func sum(vrfs []control.VRF) (t control.Verdicts) {
	for _, v := range vrfs {
		t.Deliver += v.Verdicts.Deliver
		t.Drop += v.Verdicts.Drop
		t.Punt += v.Verdicts.Punt
	}
	return t
}

func sampleVRF(name string, s uint64) control.VRF {
	table := func(flows uint64) control.Table {
		return control.Table{Shared: name == "red", Buckets: 65536, MaxBuckets: 16777216, Limit: 16777216, Flows: flows, Bytes: 8 << 20, MaxDepth: 5}
	}
	switch name {
	case "-":
		return control.VRF{Name: name, Frames: 500 * s, PPS: 500, Verdicts: control.Verdicts{Drop: 500 * s}, Drops: map[string]uint64{"NO_VRF": 500 * s}}
	case "default":
		return control.VRF{
			Name: name, Interfaces: []string{"eth0"}, Switches: control.Switches{IP: true, TCP: true, UDP: true}, TCP: table(90000), UDP: table(5000),
			Frames: 923000 * s, PPS: 923000, Verdicts: control.Verdicts{Deliver: 919000 * s, Drop: 3000 * s, Punt: 1000 * s},
			Paths: map[string]uint64{"early": 900000 * s, "established": 1000 * s, "listener": 18000 * s},
			Drops: map[string]uint64{"NO_SOCKET": 3000 * s},
			Early: control.EarlyCounts{TCP: control.Early{Tried: 900000 * s, Hit: 899000 * s, RouteSkipped: 899000 * s}, UDP: control.Early{Tried: 20000 * s, Hit: 1000 * s, RouteSkipped: 900 * s}, NotTried: map[string]uint64{"proto": 1000 * s}},
		}
	}
	return control.VRF{
		Name: name, Interfaces: []string{"eth0.10", "eth0.20"}, Switches: control.Switches{IP: true, TCP: true}, TCP: table(4000), UDP: table(1000),
		Frames: 802000 * s, PPS: 802000, Verdicts: control.Verdicts{Deliver: 800500 * s, Drop: 1500 * s},
		Paths: map[string]uint64{"early": 700000 * s, "established": 100500 * s},
		Drops: map[string]uint64{"SOCKET_RCVBUFF": 1500 * s},
		Early: control.EarlyCounts{TCP: control.Early{Tried: 700000 * s, Hit: 700000 * s, RouteSkipped: 350000 * s}, NotTried: map[string]uint64{"disabled": 102000 * s}},
	}
}

func sampleLcore(index, cpu int, s uint64) control.Lcore {
	l := control.Lcore{
		Index: index, CPU: cpu, State: "polling", Epoch: 7, Queues: []string{"eth0/0"}, Frames: 862750 * s, Bytes: 512000000 * s, PPS: 862750,
		Bursts: 30000 * s, EmptyPolls: 2000 * s, BusyNs: 800e6 * s, IdleNs: 200e6 * s, Busy: 0.8, Fill: 28.76,
		FillCounts: []uint64{100 * s, 200 * s, 700 * s, 1000 * s, 2000 * s, 25000 * s, 1000 * s}, MaxGapNs: 1250000, RecentGapNs: 84000,
		Computed: 860000 * s, Recorded: 862750 * s, Created: 18000 * s,
	}
	if index == 1 {
		l.Queues = []string{"eth0/1"}
		l.Busy, l.BusyNs, l.IdleNs, l.Naps, l.Contended = 0.35, 350e6*s, 650e6*s, 12*s, 3*s
	}
	return l
}

// show is the part of a snapshot that a path names, or nil.
func show(s *control.Snapshot, path, name string, epoch uint64) any {
	switch path {
	case "/v1/snapshot":
		return s
	case "/v1/vrfs":
		a := control.VRFs{Head: s.Head}
		for _, v := range s.VRFs {
			if name == "" || v.Name == name {
				a.VRFs = append(a.VRFs, v)
			}
		}
		return a
	case "/v1/workers":
		return control.Workers{Head: s.Head, Workers: s.Workers}
	case "/v1/groups":
		return control.Groups{Head: s.Head, Groups: s.Groups}
	case "/v1/ports":
		return control.Ports{Head: s.Head, Ports: s.Ports}
	case "/v1/lcores":
		return control.Lcores{Head: s.Head, Lcores: s.Lcores}
	case "/v1/drops":
		return control.Drops{Head: s.Head, Drops: s.Drops, Total: s.Totals.Verdicts.Drop}
	case "/v1/mib":
		return control.MIB{Head: s.Head, Counters: s.MIB}
	case "/v1/sysctl":
		return control.Sysctls{Epoch: epoch, Values: []control.SysctlValue{{VRF: "red", Name: "udp_early_demux", Value: "0"}, {VRF: "red", Name: "udp_hash_entries", Value: "-65536", ReadOnly: true}}}
	case "/v1/config":
		return control.Config{Epoch: epoch, File: "edemux.yaml", Loaded: Epoch, Text: "ports:\n  - name: eth0\n", Changes: []string{"close b"}}
	case "/v1/sockets":
		return control.Sockets{Head: s.Head, Total: 3, Sockets: []control.Socket{
			{Name: "dns/0", Proto: "udp", Family: 6, Local: "[::]:53", State: "bound", VRF: "default", Worker: "dns/0"},
			{Name: "web443/0", Proto: "tcp", Family: 4, Local: "0.0.0.0:443", State: "listen", VRF: "red", Worker: "web/0", Group: "web443"},
			{Name: "web443/1", Proto: "tcp", Family: 4, Local: "0.0.0.0:443", State: "listen", VRF: "red", Worker: "web/1", Group: "web443"},
		}}
	case "/v1/flows":
		return control.Flows{Head: s.Head, Total: 100000, After: "2", Flows: []control.Flow{
			{VRF: "red", Proto: "tcp", Local: "10.0.0.1:443", Remote: "192.0.2.9:40000", State: "ESTABLISHED", Socket: "web443/0", Worker: "web/0", Expires: -1},
			{VRF: "red", Proto: "tcp", Local: "[2001:db8::1]:443", Remote: "[2001:db8:1234:5678:9abc:def0:1234:5678]:40000", State: "TIME_WAIT", Socket: "web443/1", Worker: "web/1", Expires: 59500},
		}}
	}
	return nil
}
