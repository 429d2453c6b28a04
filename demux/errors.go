package demux

import (
	"strings"
	"syscall"
)

// Error says why Linux would refuse a step of the control path.
type Error struct {
	Socket string        // name of the socket
	Op     string        // what failed: "bind udp 10.0.0.1:53"
	Errno  syscall.Errno // as the system call would give it
	With   string        // the socket in the way, or another reason; may be empty
}

// Error is one line: the object, the step, the kernel's text, the reason.
func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("socket " + e.Socket + ": " + e.Op + ": " + e.Errno.Error())
	if e.With != "" {
		s.WriteString(" (" + e.With + ")")
	}
	return s.String()
}

// Is makes errors.Is(err, syscall.EADDRINUSE) work.
func (e *Error) Is(target error) bool { return target == error(e.Errno) }
