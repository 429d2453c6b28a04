// Package capture reads and writes capture files.
//
// Job. A streaming reader for pcap (µs and ns, both byte orders, the format of
// Kuznetzov's patch) and pcapng, plain or packed with gzip or zstd, from files
// of any size in bounded memory; a merge of several inputs by capture time; and
// writers of both formats. What is read is untrusted: no bytes can panic, hang
// or make a reader allocate in proportion to a length that the file declares.
//
// Order. A Reader yields the frames of one input in file order. A Merge yields
// the frames of all inputs by time, ties by argument order, and never turns
// back within one input: a frame older than its predecessor takes its place
// right behind it, while Frame.TS stays what the capture says.
//
// Threads. Nothing here is safe for concurrent use. A Reader, a Merge with its
// Readers, a Batch or a writer belongs to one goroutine at a time; a filled
// Batch may be handed to another one.
//
// Ownership. Frame.Data from Next points into the reader's buffer and is valid
// until the following call of Next, Rewind or Close. Fill copies into the
// batch's arena, where bytes stay until that batch is filled again.
//
// Damage. A capture that ends inside a record, or holds one of more than
// MaxRecord bytes, ends there: Next returns io.EOF, Warnings says where and
// what, and the frames before it count. Only an input that is no capture at all
// is an error (ErrNotCapture), and so is a failing disk or pipe.
//
// Kernel counterpart: none. The formats are those of the pcap and pcapng
// Internet-Drafts; where those are silent, what libpcap 1.10 and Wireshark 4.0
// accept is accepted.
package capture
