// Package exit holds the exit codes of edemux and the error that carries one.
//
// Job: one meaning per code, for every command. Threads: values only.
package exit

import "fmt"

// Exit codes.
const (
	OK       = 0
	Failure  = 1 // something failed while running
	Usage    = 2 // wrong arguments or configuration
	Mismatch = 3 // golden file or kernel disagrees
)

// Error is an error that decides the exit code. Its text is one line.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns a usage or configuration error.
func Usagef(format string, args ...any) error {
	return &Error{Usage, fmt.Errorf(format, args...)}
}

// AsUsage makes err a usage error; nil stays nil.
func AsUsage(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Usage, err}
}

// Mismatchf returns a golden mismatch or a disagreement with the kernel.
func Mismatchf(format string, args ...any) error {
	return &Error{Mismatch, fmt.Errorf(format, args...)}
}
