package control

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of a server. Whatever clients do, it holds no more than this.
const (
	maxConns    = 256 // connections; the idle one that waits longest makes room
	maxBody     = 64 << 10
	maxHeader   = 16 << 10
	maxRunning  = 32 // requests at a time
	maxDumps    = 2  // of these, such as look at whole tables
	maxCaptures = 4

	headerTime = 3 * time.Second // for a client to say what it wants
	readTime   = 10 * time.Second
	writeTime  = 20 * time.Second // for a client to take an answer
	idleTime   = 60 * time.Second
	queueTime  = 2 * time.Second // that a request waits for its turn
)

// NewHTTP returns an HTTP server with these bounds. conns must serve only it.
func NewHTTP(h http.Handler, conns *Conns) *http.Server {
	return &http.Server{
		Handler: conns.wrap(h), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxHeader, ConnState: conns.state, ConnContext: conns.context,
		ErrorLog: quietLog,
	}
}

// Conns bounds the connections of a server. A new one that is too many takes
// the place of the oldest on which no request is being answered, so that half-open
// requests and idle connections never shut others out.
type Conns struct {
	mu    sync.Mutex
	all   list.List // of *conn, oldest first
	index map[net.Conn]*conn
}

type conn struct {
	net.Conn
	busy int // requests being answered
	at   *list.Element
}

// NewConns returns a bound for one server.
func NewConns() *Conns { return &Conns{index: map[net.Conn]*conn{}} }

func (c *Conns) state(nc net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.mu.Lock()
		defer c.mu.Unlock()
		x := &conn{Conn: nc}
		x.at = c.all.PushBack(x)
		c.index[nc] = x
		if c.all.Len() > maxConns {
			c.evict()
		}
	case http.StateClosed, http.StateHijacked:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forget(nc)
	}
}

// evict closes the oldest connection without a request in hand. Under mu.
func (c *Conns) evict() {
	for e := c.all.Front(); e != nil; e = e.Next() {
		if x := e.Value.(*conn); x.busy == 0 {
			c.forget(x.Conn)
			x.Close()
			return
		}
	}
}

func (c *Conns) forget(nc net.Conn) {
	if x := c.index[nc]; x != nil {
		c.all.Remove(x.at)
		delete(c.index, nc)
	}
}

type connKey struct{}

func (c *Conns) context(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, nc)
}

// wrap marks connections on which a request is being answered.
func (c *Conns) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nc, _ := r.Context().Value(connKey{}).(net.Conn)
		c.busy(nc, 1)
		defer c.busy(nc, -1)
		h.ServeHTTP(w, r)
	})
}

func (c *Conns) busy(nc net.Conn, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.index[nc]; x != nil {
		x.busy += n
		if n < 0 {
			c.all.MoveToBack(x.at) // it was of use just now
		}
	}
}

// turns lets so many run at a time.
type turns chan struct{}

// take waits for a turn, not at all or for queueTime. False: there was none.
func (t turns) take(ctx context.Context, wait bool) bool {
	select {
	case t <- struct{}{}:
		return true
	default:
	}
	if !wait {
		return false
	}
	timer := time.NewTimer(queueTime)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (t turns) give() { <-t }
