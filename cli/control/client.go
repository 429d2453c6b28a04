package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"edemux/cli/command"
)

// Client talks to the daemon. Any number of goroutines may use it; connections
// are made when needed, so it survives a restart of the daemon.
type Client struct {
	socket string
	http   *http.Client
}

// ErrNoDaemon is what errors.Is finds when nobody answers on the socket.
var ErrNoDaemon = errors.New("no daemon")

// requestTimeout bounds an answer other than a capture.
const requestTimeout = 60 * time.Second

// NewClient returns a client of the daemon on socket; "" is DefaultSocket. It
// does not connect yet.
func NewClient(socket string) *Client {
	if socket == "" {
		socket = DefaultSocket
	}
	d := net.Dialer{Timeout: 5 * time.Second}
	return &Client{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		},
		MaxIdleConns: 2, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
	}}}
}

// Socket is the path that the client connects to.
func (c *Client) Socket() string { return c.socket }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Snapshot returns everything that is counted; id 0 takes a new snapshot.
func (c *Client) Snapshot(ctx context.Context, id uint64) (*Snapshot, error) {
	return get[Snapshot](ctx, c, "/v1/snapshot", snapshotQuery(id))
}

// Counters returns the registry sample by sample.
func (c *Client) Counters(ctx context.Context, id uint64) (*Counters, error) {
	return get[Counters](ctx, c, "/v1/counters", snapshotQuery(id))
}

func snapshotQuery(id uint64) url.Values {
	q := url.Values{}
	if id != 0 {
		q.Set("snapshot", strconv.FormatUint(id, 10))
	}
	return q
}

// VRFs returns one VRF, or all when name is "".
func (c *Client) VRFs(ctx context.Context, name string) (*VRFs, error) {
	return get[VRFs](ctx, c, "/v1/vrfs", named("name", name))
}

// Groups returns one reuseport group, or all.
func (c *Client) Groups(ctx context.Context, name string) (*Groups, error) {
	return get[Groups](ctx, c, "/v1/groups", named("name", name))
}

// Workers returns one worker (POOL/N), the workers of a pool, or all.
func (c *Client) Workers(ctx context.Context, name string) (*Workers, error) {
	return get[Workers](ctx, c, "/v1/workers", named("name", name))
}

// Ports returns one port, or all.
func (c *Client) Ports(ctx context.Context, name string) (*Ports, error) {
	return get[Ports](ctx, c, "/v1/ports", named("name", name))
}

// Lcores returns the polling threads.
func (c *Client) Lcores(ctx context.Context) (*Lcores, error) {
	return get[Lcores](ctx, c, "/v1/lcores", nil)
}

// Drops returns the drops by reason of one VRF, or of all.
func (c *Client) Drops(ctx context.Context, vrf string) (*Drops, error) {
	return get[Drops](ctx, c, "/v1/drops", named("vrf", vrf))
}

// MIB returns the kernel's counters.
func (c *Client) MIB(ctx context.Context) (*MIB, error) {
	return get[MIB](ctx, c, "/v1/mib", nil)
}

// Sockets returns a page of sockets.
func (c *Client) Sockets(ctx context.Context, s SocketQuery) (*Sockets, error) {
	q := named("name", s.Name)
	page(q, s.VRF, s.Limit, s.After)
	return get[Sockets](ctx, c, "/v1/sockets", q)
}

// Flows returns a page of flows.
func (c *Client) Flows(ctx context.Context, f FlowQuery) (*Flows, error) {
	q := named("filter", f.Filter)
	page(q, f.VRF, f.Limit, f.After)
	return get[Flows](ctx, c, "/v1/flows", q)
}

func page(q url.Values, vrf string, limit int, after string) {
	if vrf != "" {
		q.Set("vrf", vrf)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if after != "" {
		q.Set("after", after)
	}
}

func named(key, value string) url.Values {
	q := url.Values{}
	if value != "" {
		q.Set(key, value)
	}
	return q
}

// Config returns the running configuration.
func (c *Client) Config(ctx context.Context) (*Config, error) {
	return get[Config](ctx, c, "/v1/config", nil)
}

// Version returns the versions of the daemon.
func (c *Client) Version(ctx context.Context) (*Version, error) {
	return get[Version](ctx, c, "/v1/version", nil)
}

// Objects returns the names of the live objects of a kind (command.Kind.Live).
func (c *Client) Objects(ctx context.Context, kind command.Kind) ([]string, error) {
	o, err := get[Objects](ctx, c, "/v1/objects", named("kind", kind.String()))
	if err != nil {
		return nil, err
	}
	return o.Names, nil
}

// EarlyDemux returns the switches of one VRF, or of all.
func (c *Client) EarlyDemux(ctx context.Context, vrf string) (*EarlyDemux, error) {
	return get[EarlyDemux](ctx, c, "/v1/early-demux", named("vrf", vrf))
}

// SetEarlyDemux turns a switch.
func (c *Client) SetEarlyDemux(ctx context.Context, s SetEarlyDemux) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodPut, "/v1/early-demux", s)
}

// Sysctl returns one sysctl or all, of one VRF or of all.
func (c *Client) Sysctl(ctx context.Context, name, vrf string) (*Sysctls, error) {
	q := named("name", name)
	page(q, vrf, 0, "")
	return get[Sysctls](ctx, c, "/v1/sysctl", q)
}

// SetSysctl sets a sysctl.
func (c *Client) SetSysctl(ctx context.Context, s SetSysctl) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodPut, "/v1/sysctl", s)
}

// Bind creates a socket.
func (c *Client) Bind(ctx context.Context, spec string) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodPost, "/v1/sockets", Bind{spec})
}

// Connect connects a socket, or creates a connected one.
func (c *Client) Connect(ctx context.Context, r Connect) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodPost, "/v1/connect", r)
}

// CloseSocket closes a socket, or all members of a name.
func (c *Client) CloseSocket(ctx context.Context, name string) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodDelete, "/v1/sockets/"+url.PathEscape(name), nil)
}

// ClearCounters makes all counts start at zero for whoever looks.
func (c *Client) ClearCounters(ctx context.Context) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodPost, "/v1/counters/clear", nil)
}

// Explain asks which socket would get a packet.
func (c *Client) Explain(ctx context.Context, e Explain) (*Explained, error) {
	return send[Explained](ctx, c, http.MethodPost, "/v1/explain", e)
}

// Reload applies the configuration file again.
func (c *Client) Reload(ctx context.Context) (*Reloaded, error) {
	return send[Reloaded](ctx, c, http.MethodPost, "/v1/reload", nil)
}

// Shutdown asks the daemon to drain and stop. It answers before it stops.
func (c *Client) Shutdown(ctx context.Context) (*Changed, error) {
	return send[Changed](ctx, c, http.MethodPost, "/v1/shutdown", nil)
}

// Capture writes a pcapng of matching packets with their decisions to w until
// count or duration is reached or ctx ends, which is no error.
func (c *Client) Capture(ctx context.Context, r CaptureQuery, w io.Writer) (DumpStats, error) {
	q := named("filter", r.Filter)
	if r.Count > 0 {
		q.Set("count", strconv.Itoa(r.Count))
	}
	if r.Duration > 0 {
		q.Set("duration", r.Duration.String())
	}
	s, err := c.dump(ctx, "/v1/capture", q, w)
	if ctx.Err() != nil {
		err = nil
	}
	return s, err
}

// Recorder writes the flight recorder to w as pcapng.
func (c *Client) Recorder(ctx context.Context, w io.Writer) (DumpStats, error) {
	return c.dump(ctx, "/v1/recorder", nil, w)
}

func (c *Client) dump(ctx context.Context, path string, q url.Values, w io.Writer) (s DumpStats, err error) {
	resp, err := c.do(ctx, http.MethodGet, path, q, nil)
	if err != nil {
		return s, err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(w, resp.Body); err != nil {
		return s, fmt.Errorf("%s: %w", c.socket, err)
	}
	s.Missed, _ = strconv.ParseUint(resp.Trailer.Get(missedTrailer), 10, 64)
	return s, nil
}

// missedTrailer carries DumpStats.Missed behind a pcapng answer.
const missedTrailer = "Edemux-Missed"

func get[T any](ctx context.Context, c *Client, path string, q url.Values) (*T, error) {
	return call[T](ctx, c, http.MethodGet, path, q, nil)
}

func send[T any](ctx context.Context, c *Client, method, path string, body any) (*T, error) {
	return call[T](ctx, c, method, path, nil, body)
}

func call[T any](ctx context.Context, c *Client, method, path string, q url.Values, body any) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.do(ctx, method, path, q, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	out := new(T)
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return nil, fmt.Errorf("%s: %s: not an answer of edemux: %w", c.socket, path, err)
	}
	return out, nil
}

// do sends a request and turns refusals into an *Error.
func (c *Client) do(ctx context.Context, method, path string, q url.Values, body any) (*http.Response, error) {
	u := "http://edemux" + path
	if len(q) > 0 {
		u += "?" + q.Encode()
	}
	var rd io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		rd = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, u, rd)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	e := errorBody{}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e); err != nil || e.Error == nil {
		return nil, fmt.Errorf("%s: %s: %s", c.socket, path, resp.Status)
	}
	e.Error.Status = resp.StatusCode
	return nil, e.Error
}

// unreachable says in one sentence why nobody answers.
func (c *Client) unreachable(err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s: %w answers there: is `edemux run` running, with this control socket?", c.socket, ErrNoDaemon)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: not allowed to connect: run as the user of the daemon", c.socket)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%s: %w", c.socket, err)
}
