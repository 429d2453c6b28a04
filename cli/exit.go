package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"edemux/cli/config"
	"edemux/cli/exit"
)

// report prints err as the one line that every failure gets and returns the
// exit code that goes with it.
func report(err error, stderr io.Writer) int {
	if err == nil {
		return exit.OK
	}
	line := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	if line != "" {
		fmt.Fprintf(stderr, "edemux: %s\n", strings.TrimPrefix(line, "edemux: "))
	}
	var bad *config.Error
	if errors.As(err, &bad) {
		fmt.Fprint(stderr, bad.Detail()) // the source line with a mark
	}
	var e *exit.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return exit.Failure
}
