// Package dpdkrun plugs DPDK into the commands: `edemux run` with DPDK ports,
// `replay --engine dpdk` and `bench pipeline --engine dpdk`.
//
// Job: choose EAL's arguments and memory from the configuration, open ports, hand
// EAL lcores to whoever wants a polling thread, answer DPDK's telemetry. Order:
// Install once, at the start of the program; the commands call what it set.
// Threads: one control goroutine; what runs on lcores is the commands'. Errors:
// one line that names device, step and DPDK's reason. In a program without DPDK
// Install does nothing and the commands say how to build with it.
// Kernel counterpart: none.
package dpdkrun
