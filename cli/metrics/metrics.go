// Package metrics serves the registry of counters to Prometheus, and the
// health of the daemon, on the metrics address.
//
// Job: /metrics from the same snapshots that the control socket answers with,
// /healthz (the process answers), /readyz (every lcore polls). Threads: each
// scrape takes one snapshot. Bounds: those of the control socket.
package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"edemux/cli/control"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Source gives snapshots: id 0 a new one.
type Source interface {
	Snapshot(id uint64) (*control.Snapshot, error)
}

// Server serves one address.
type Server struct {
	http *http.Server
	l    net.Listener
	done sync.WaitGroup
}

// Listen serves src on addr. ready says whether the lcores poll.
func Listen(addr netip.AddrPort, src Source, ready func() bool) (*Server, error) {
	l, err := net.Listen("tcp", addr.String())
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	s := &Server{http: control.NewHTTP(Handler(src, ready), control.NewConns()), l: l}
	s.done.Go(func() { _ = s.http.Serve(l) }) // ends with Close
	return s, nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.l.Addr().String() }

// Close ends the server.
func (s *Server) Close() error {
	err := s.http.Close()
	s.done.Wait()
	return err
}

// scrapes is how many scrapes run at a time.
const scrapes = 4

// Handler answers /metrics, /healthz and /readyz.
func Handler(src Source, ready func() bool) http.Handler {
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector())
	turns := make(chan struct{}, scrapes)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			http.Error(w, "as many scrapes run as may at a time: try again", http.StatusServiceUnavailable)
			return
		}
		serve(w, r, src, process)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "not polling", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// serve answers one scrape, of the snapshot that ?snapshot= names or a new one.
func serve(w http.ResponseWriter, r *http.Request, src Source, process prometheus.Gatherer) {
	var id uint64
	if t := r.URL.Query().Get("snapshot"); t != "" {
		n, err := strconv.ParseUint(t, 10, 64)
		if err != nil {
			http.Error(w, "snapshot: want the id of a snapshot", http.StatusBadRequest)
			return
		}
		id = n
	}
	n, err := src.Snapshot(id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusGone)
		return
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collector{n})
	promhttp.HandlerFor(prometheus.Gatherers{reg, process}, promhttp.HandlerOpts{
		EnableOpenMetrics: true, Timeout: 10 * time.Second,
	}).ServeHTTP(w, r)
}

// collector shows one snapshot.
type collector struct{ n *control.Snapshot }

var descs = describe()

func describe() []*prometheus.Desc {
	all := make([]*prometheus.Desc, len(control.Registry))
	for i := range control.Registry {
		m := &control.Registry[i]
		all[i] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	return all
}

// Describe lists the metrics.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect sends every sample.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	for i := range control.Registry {
		m := &control.Registry[i]
		kind := prometheus.CounterValue
		if m.Gauge {
			kind = prometheus.GaugeValue
		}
		m.Each(c.n, func(v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(descs[i], kind, v, labels...)
		})
	}
}
