// Package judge asks a running Linux kernel whether it decides as edemux does.
//
// Job: make a network namespace, open real sockets in it step by step, put
// frames on the wire, observe which socket the kernel gave each of them, take
// the same steps in the engine, and compare. Choices that hang on the kernel's
// hash secrets are held to "a member of the right group, the same one for the
// same flow"; everything else exactly: sockets, errors of system calls, MIB
// counters.
//
// Order: a Trial takes its steps singly; each frame is followed by markers that
// travel the same queue, so that nothing waits for time to pass.
// Threads: a Trial lives on one operating system thread that it is in the
// namespace with; OnThread makes such a thread. Kernel counterpart: all of it.
package judge
