// Package control is the control socket of `edemux run`: HTTP/1.1 with JSON
// over a unix socket, the types that both ends share, the server and the
// client. docs/control.md describes every path.
//
// Job: show what the running engine holds and counts, and change it. The
// server answers from snapshots: one registry of counters (Snapshot) feeds the
// typed answers, GET /v1/counters and Prometheus, so that answers with the same
// snapshot id show the same numbers.
//
// Threads: handlers run on any goroutine. What changes the engine is serialized
// by State; what reads it takes immutable views, a snapshot of the counters
// that each lcore copies between two bursts into memory of the asker, or the
// flow tables through their lock-free walk. No handler can make an lcore wait,
// allocate or take a lock.
//
// Bounds: connections, requests at a time, dumps and captures at a time, the
// sizes of requests and headers and the time of each are bounded; see limits.go.
//
// Errors: every refusal is a JSON object with a code for programs and a
// sentence for people (Error).
package control
