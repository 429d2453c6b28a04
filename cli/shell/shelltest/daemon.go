package shelltest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"edemux/cli/control"
)

// Daemon answers on a control socket from invented figures (Sample). Snapshots
// come a second of traffic apart, however fast they are asked for.
type Daemon struct {
	t    *testing.T
	path string

	mu       sync.Mutex
	srv      *http.Server
	pid      int
	tick     int // snapshots so far
	epoch    uint64
	switches []control.VRFSwitches
	log      []string
	refuse   map[string]*control.Error
	blocked  map[string]bool
}

// NewDaemon starts a daemon on the socket path.
func NewDaemon(t *testing.T, path string) *Daemon {
	t.Helper()
	d := &Daemon{t: t, path: path, pid: 4000, epoch: 7, refuse: map[string]*control.Error{}, blocked: map[string]bool{}, switches: []control.VRFSwitches{
		{VRF: "default", Switches: control.Switches{IP: true, TCP: true, UDP: true}},
		{VRF: "red", Switches: control.Switches{IP: true, TCP: true}},
	}}
	d.Start()
	t.Cleanup(d.Stop)
	return d
}

// Start begins to answer, as a daemon with a new process id.
func (d *Daemon) Start() {
	d.t.Helper()
	l, err := net.Listen("unix", d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pid++
	srv := &http.Server{Handler: http.HandlerFunc(d.serve)}
	d.srv = srv
	go func() { _ = srv.Serve(l) }()
}

// Stop cuts all connections and takes the socket away, as kill -9 and a clean
// start would.
func (d *Daemon) Stop() {
	d.mu.Lock()
	srv := d.srv
	d.srv = nil
	d.mu.Unlock()
	if srv != nil {
		srv.Close()
		os.Remove(d.path)
	}
}

// Refuse makes every request that begins with "METHOD /path" fail with e, nil
// no more.
func (d *Daemon) Refuse(request string, e *control.Error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refuse, request)
	if e != nil {
		d.refuse[request] = e
	}
}

// Block makes requests that begin with "METHOD /path" wait until the client
// goes away.
func (d *Daemon) Block(request string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocked[request] = true
}

// Requests are the requests so far that begin with prefix: "METHOD /path?query
// body".
func (d *Daemon) Requests(prefix string) (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.log {
		if strings.HasPrefix(r, prefix) {
			out = append(out, r)
		}
	}
	return out
}

func (d *Daemon) serve(w http.ResponseWriter, r *http.Request) {
	var body json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&body)
	request := r.Method + " " + r.URL.RequestURI()
	d.mu.Lock()
	d.log = append(d.log, strings.TrimSpace(request+" "+string(body)))
	var refused *control.Error
	blocked := false
	for p, e := range d.refuse {
		if strings.HasPrefix(request, p) {
			refused = e
		}
	}
	for p := range d.blocked {
		blocked = blocked || strings.HasPrefix(request, p)
	}
	var answer any
	if refused == nil && !blocked {
		answer = d.answer(r, body)
	}
	d.mu.Unlock()
	switch {
	case blocked:
		<-r.Context().Done()
	case refused != nil:
		w.WriteHeader(refused.Status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": refused})
	case answer == nil:
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": control.Error{Code: control.CodeNotFound, Message: "no such path: " + r.URL.Path}})
	default:
		if raw, ok := answer.([]byte); ok {
			_, _ = w.Write(raw)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// snapshot takes the next snapshot; d.mu is held.
func (d *Daemon) snapshot() *control.Snapshot {
	d.tick++
	s := Sample(d.tick)
	s.Epoch = d.epoch
	for i := range s.VRFs {
		for _, x := range d.switches {
			if x.VRF == s.VRFs[i].Name {
				s.VRFs[i].Switches = x.Switches
			}
		}
	}
	return s
}

// answer is what a request gets, nil for an unknown path; d.mu is held.
func (d *Daemon) answer(r *http.Request, body json.RawMessage) any {
	q := r.URL.Query()
	changed := func(format string, args ...any) any {
		d.epoch++
		return control.Changed{Epoch: d.epoch, Did: fmt.Sprintf(format, args...)}
	}
	switch r.Method + " " + r.URL.Path {
	case "PUT /v1/early-demux":
		return d.setEarlyDemux(body)
	case "PUT /v1/sysctl":
		var s control.SetSysctl
		_ = json.Unmarshal(body, &s)
		return changed("%s=%s in %s", s.Name, s.Value, orAll(s.VRF))
	case "POST /v1/sockets":
		return changed("bound")
	case "POST /v1/connect":
		return changed("connected")
	case "POST /v1/counters/clear":
		return changed("counters begin at 0")
	case "POST /v1/shutdown":
		return changed("draining")
	case "POST /v1/reload":
		d.epoch++
		return control.Reloaded{Epoch: d.epoch, Did: []string{"added socket dns2/0"}}
	case "POST /v1/explain":
		return control.Explained{Epoch: d.epoch, Verdict: "deliver", Text: "packet       udp\nresult       deliver to dns/0\n"}
	case "GET /v1/version":
		return control.Version{API: "1", Edemux: "1.2.3", Go: "go1.26", DPDK: "none", PID: d.pid, Started: Epoch}
	case "GET /v1/objects":
		return control.Objects{Names: Objects[q.Get("kind")]}
	case "GET /v1/early-demux":
		return control.EarlyDemux{Epoch: d.epoch, VRFs: d.switches}
	case "GET /v1/capture", "GET /v1/recorder":
		return []byte("pcapng of " + r.URL.Path)
	}
	if name, ok := strings.CutPrefix(r.Method+" "+r.URL.Path, "DELETE /v1/sockets/"); ok {
		return changed("closed %s", name)
	}
	if r.Method != http.MethodGet {
		return nil
	}
	return show(d.snapshot(), r.URL.Path, q.Get("name"), d.epoch)
}

func orAll(vrf string) string {
	if vrf == "" {
		return "all VRFs"
	}
	return "VRF " + vrf
}

func (d *Daemon) setEarlyDemux(body json.RawMessage) any {
	var s control.SetEarlyDemux
	_ = json.Unmarshal(body, &s)
	for i := range d.switches {
		v := &d.switches[i]
		if s.VRF != "" && s.VRF != v.VRF {
			continue
		}
		switch s.Proto {
		case "ip":
			v.IP = s.On
		case "tcp":
			v.TCP = s.On
		case "udp":
			v.UDP = s.On
		}
	}
	d.epoch++
	return control.Changed{Epoch: d.epoch, Did: fmt.Sprintf("early demux: %s %v in %s", s.Proto, s.On, orAll(s.VRF))}
}

// Objects are the names that the daemon offers for completion, by kind.
var Objects = map[string][]string{
	"vrf": {"default", "red"}, "socket": {"dns/0", "web443/0", "web443/1"}, "group": {"web443"}, "worker": {"dns/0", "web/0", "web/1"},
	"iface": {"eth0", "eth0.10"}, "port": {"eth0"}, "reason": {"NO_SOCKET", "SOCKET_RCVBUFF"},
}

// Epoch is when the daemon started, and its time zone.
var Epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
