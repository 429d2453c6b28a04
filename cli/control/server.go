package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// quietLog drops what net/http says of clients that break off.
var quietLog = log.New(io.Discard, "", 0)

// Server answers on one unix socket.
type Server struct {
	state    *State
	readOnly bool
	http     *http.Server
	listener net.Listener
	path     string
	turns    *serverTurns
	done     sync.WaitGroup
	ctx      context.Context // ends with the server
	cancel   context.CancelFunc
}

// serverTurns are shared by the servers of one State.
type serverTurns struct{ running, dumps, captures turns }

func newTurns() *serverTurns {
	return &serverTurns{make(turns, maxRunning), make(turns, maxDumps), make(turns, maxCaptures)}
}

// Listen serves s on a unix socket with the given mode. A socket that a daemon
// left behind is replaced, one that a daemon answers on is an error.
func Listen(s *State, path string, mode fs.FileMode, readOnly bool) (*Server, error) {
	l, err := listen(path, mode)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	srv := newServer(s, readOnly)
	srv.listener, srv.path = l, path
	srv.http = NewHTTP(srv, NewConns())
	srv.done.Go(func() { _ = srv.http.Serve(l) }) // ends with Close
	return srv, nil
}

func newServer(s *State, readOnly bool) *Server {
	srv := &Server{state: s, readOnly: readOnly, turns: s.turns}
	srv.ctx, srv.cancel = context.WithCancel(context.Background())
	return srv
}

func listen(path string, mode fs.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, reason(err)
	}
	if st, err := os.Lstat(path); err == nil {
		if st.Mode()&fs.ModeSocket == 0 {
			return nil, errors.New("there is a file of that name that is no socket")
		}
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close()
			return nil, errors.New("another edemux answers there")
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, reason(err)
		}
		if err := os.Remove(path); err != nil {
			return nil, reason(err)
		}
	}
	old := syscall.Umask(0o177) // no moment in which others may connect
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, reason(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		l.Close()
		return nil, reason(err)
	}
	return l, nil
}

// reason is the innermost error: the path stands in the sentence already.
func reason(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// Close stops the server: answers in hand have a second to end.
func (s *Server) Close() error {
	s.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.done.Wait()
	return err
}

// ServeHTTP finds the route, its turn and its answer.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, err := s.route(r)
	if err != nil {
		writeError(w, err)
		return
	}
	if !s.turns.running.take(r.Context(), true) {
		writeError(w, busy("requests"))
		return
	}
	defer s.turns.running.give()
	if rt.kind == kindDump {
		if !s.turns.dumps.take(r.Context(), false) {
			writeError(w, busy("dumps"))
			return
		}
		defer s.turns.dumps.give()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if rt.stream != nil {
		if err := rt.stream(s, w, &request{r}); err != nil {
			writeError(w, asError(err))
		}
		return
	}
	answer, e := rt.answer(s.state, &request{r})
	if e != nil {
		writeError(w, asError(e))
		return
	}
	writeJSON(w, r, answer)
}

func busy(what string) *Error {
	return errorf(http.StatusServiceUnavailable, CodeBusy, "as many %s run as may at a time: try again", what)
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return errorf(http.StatusInternalServerError, CodeInternal, "%v", err)
}

func writeJSON(w http.ResponseWriter, r *http.Request, answer any) {
	b, err := json.Marshal(answer)
	if err != nil {
		writeError(w, asError(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", fmt.Sprint(len(b)+1))
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(b, '\n')) // the client is gone or it is not
	}
}

// route finds what answers a request.
func (s *Server) route(r *http.Request) (*route, *Error) {
	path, name := r.URL.Path, ""
	if rest, ok := strings.CutPrefix(path, "/v1/sockets/"); ok && rest != "" {
		path, name = "/v1/sockets/{name}", rest
	}
	var methods []string
	for i := range routes {
		rt := &routes[i]
		if rt.path != path {
			continue
		}
		if rt.method == r.Method || rt.method == http.MethodGet && r.Method == http.MethodHead && rt.stream == nil {
			if rt.kind == kindChange && s.readOnly {
				return nil, errorf(http.StatusForbidden, CodeReadOnly, "this socket is read-only: use the control socket")
			}
			r.SetPathValue("name", name)
			return rt, nil
		}
		methods = append(methods, rt.method)
	}
	if methods == nil {
		return nil, errorf(http.StatusNotFound, CodeNotFound, "no such path: GET /v1/ lists them")
	}
	slices.Sort(methods)
	return nil, errorf(http.StatusMethodNotAllowed, CodeMethod, "%s is for %s", path, strings.Join(methods, ", "))
}
