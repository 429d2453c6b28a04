// Package shell is `edemux ctl` and `edemux shell`: the grammar of package
// command, carried out over the control socket.
//
// Job: read a line, ask the daemon, print what package render makes of the
// answer. ctl does it once; the shell reads a terminal with history, completion
// and `?`, or commands from a file or pipe, where the first error ends it.
// Order: one command at a time. Threads: the terminal belongs to the loop; a
// goroutine tells it of new sizes and another of a daemon that came back.
// Errors: one line each; exit code 2 for what was typed wrong, 1 for what the
// daemon refused or could not be asked.
package shell
