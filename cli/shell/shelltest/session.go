// Package shelltest runs terminal programs in tests: a pseudo-terminal with a
// screen that remembers what a person would see, and a daemon that answers as
// `edemux run` does, from invented figures.
//
// Job: sessions without sleeps: a test sends keys and waits until the screen
// shows what it expects, with a deadline. Threads: a Session may be used by one
// goroutine; a Daemon by any.
package shelltest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a Session waits for what a test expects. It is a
// deadline, not a delay.
const patience = 20 * time.Second

// Open returns both ends of a new pseudo-terminal.
func Open(width, height int) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			master.Close()
		}
	}()
	fd := int(master.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err = setSize(fd, width, height); err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return master, slave, err
}

func setSize(fd, width, height int) error {
	return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
}

// Session is a program on a terminal of its own.
type Session struct {
	t      *testing.T
	master *os.File
	slave  *os.File // kept open, so that the terminal's modes can be read
	cmd    *exec.Cmd
	done   chan struct{} // closed when the program has ended
	err    error         // of cmd.Wait, once done

	mu     sync.Mutex
	screen *Screen
	all    []byte        // everything that was written
	seen   int           // up to where Wait has looked
	more   chan struct{} // closed and replaced with each output
}

// Start runs cmd on a terminal of width x height.
func Start(t *testing.T, cmd *exec.Cmd, width, height int) *Session {
	t.Helper()
	master, slave, err := Open(width, height)
	if err != nil {
		t.Fatalf("no pseudo-terminal: %v", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := &Session{t: t, master: master, slave: slave, cmd: cmd, done: make(chan struct{}), screen: NewScreen(width, height), more: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", cmd.Path, err)
	}
	go s.read()
	go func() {
		s.err = cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(s.end)
	return s
}

func (s *Session) end() {
	select {
	case <-s.done:
	default:
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	s.slave.Close()
	s.master.Close()
}

func (s *Session) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		_, _ = s.screen.Write(buf[:n])
		s.all = append(s.all, buf[:n]...)
		close(s.more)
		s.more = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Send types keys.
func (s *Session) Send(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatalf("typing %q: %v", keys, err)
	}
}

// Wait returns when the program has written text since the last Wait ended.
func (s *Session) Wait(text string) {
	s.t.Helper()
	s.until(fmt.Sprintf("output %q", text), func() bool {
		i := strings.Index(string(s.all[s.seen:]), text)
		if i >= 0 {
			s.seen += i + len(text)
		}
		return i >= 0
	})
}

// Show returns when the screen as a whole satisfies ok, and what it shows.
func (s *Session) Show(what string, ok func(lines []string) bool) (text string) {
	s.t.Helper()
	s.until(what, func() bool {
		text = s.screen.String()
		return ok(s.screen.Lines())
	})
	return text
}

// Prompt returns when the last line of the screen is line.
func (s *Session) Prompt(line string) {
	s.t.Helper()
	s.Show(fmt.Sprintf("last line %q", line), func(l []string) bool { return len(l) > 0 && l[len(l)-1] == line })
	s.mu.Lock()
	s.seen = len(s.all)
	s.mu.Unlock()
}

// Screen is what the terminal shows now.
func (s *Session) Screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.screen.String()
}

func (s *Session) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		good, more := ok(), s.more
		s.mu.Unlock()
		if good {
			return
		}
		select {
		case <-more:
		case <-deadline:
			s.t.Fatalf("%s did not come; the screen shows:\n%s", what, s.Screen())
		}
	}
}

// Resize changes the size of the terminal, which signals the program.
func (s *Session) Resize(width, height int) {
	s.t.Helper()
	s.mu.Lock()
	s.screen.Resize(width, height)
	s.mu.Unlock()
	if err := setSize(int(s.master.Fd()), width, height); err != nil {
		s.t.Fatal(err)
	}
}

// Signal sends the program a signal.
func (s *Session) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Exit waits for the program's end and returns its exit code, -1 when a signal
// ended it.
func (s *Session) Exit() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatalf("the program does not end; the screen shows:\n%s", s.Screen())
	}
	return s.cmd.ProcessState.ExitCode()
}

// Cooked reports whether the terminal echoes and edits lines itself, as it did
// before the program started.
func (s *Session) Cooked() bool {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	want := uint32(unix.ECHO | unix.ICANON | unix.ISIG)
	return uint32(m.Lflag)&want == want
}
