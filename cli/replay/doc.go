// Package replay runs captures through the dataplane and reports what was
// decided: as tab-separated decisions, as a JSON or human summary, compared
// with golden files, or as captures per worker.
//
// Job: the pipeline from files to reports. Order: read (merged by time), parse
// on as many threads as --lcores says, then one thread that walks in input
// order, then one that prints. Everything that touches shared state happens on
// the walking thread, which is why the result does not hang on --lcores.
// Threads: Run may be called once per value. Ownership: frames live in batches
// that go round the pipeline. Kernel counterpart: none.
package replay
