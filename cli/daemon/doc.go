// Package daemon is `edemux run`: lcores that poll ports, workers that poll
// rings, the control socket and the metrics address around them, in the
// foreground.
//
// Job: start all of it in order, keep it running, and stop it in order: lcores
// leave, rings are emptied, final accounts are printed. Order: configuration,
// ports, sockets, workers, lcores, ready. Threads: one locked thread per lcore
// and per worker CPU; everything else runs on the remaining CPUs. A panic on a
// thread of ours becomes one error with its stack and an orderly stop. Errors:
// those of package exit.
// Kernel counterpart: ksoftirqd and its NAPI polling.
package daemon
