// Command edemux is Linux's socket demultiplexer as a userspace, poll-mode
// dataplane. See README.md.
package main

import (
	"os"

	"edemux/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
