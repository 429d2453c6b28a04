// Package bench measures: `edemux bench`.
//
// Job: each benchmark builds what it measures, alternates the sides it
// compares and prints rows, for people or as JSON. Figures are of the machine
// they ran on; only ratios within one run say something. Threads: one measured
// thread per lcore, locked; nothing else runs meanwhile. Kernel counterpart:
// none.
package bench
