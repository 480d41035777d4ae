// Package analyze turns batches of captured frames into findings, conversations
// and counters. It has no clock, logger, file or socket: the same frames give
// the same result, bit for bit, for any number of workers.
//
// # The walk of a batch
//
//	source -> dealers -> lanes -> collector -> Result
//
// The dealers take turns at the source. Who has its turn takes the next batch and hands
// the same batch to every lane, no byte is copied; then it deals out the frames, while
// the next one reads: the bytes are still in the cache of its core. Dealing has no state;
// lanes wait for it. A lane owns the conversations whose symmetric hash
// falls to it, with everything that has state: tables, TCP analysis, analyzers,
// time ledger. It decodes its frames, one at a time, into the same Packet. It takes no lock and shares nothing. What a lane has to say about
// one batch is one value, handed to the collector once a batch. The collector
// puts what the lanes said into the order of frames, gives conversations
// their numbers (Wireshark's tcp.stream and udp.stream), runs the correlators
// and keeps the result.
//
// # Why one table a lane
//
// Order within a conversation comes for free, nothing is locked, and the number
// of channel operations is that of batches, not of packets: one a packet would
// cost more than its whole analysis.
//
// # Why frames are dealt out by a glance
//
// Every lane has to know the hash of every frame. If each decoded all for itself, two
// lanes would do the work twice; if a dealer decoded, what it found out would go from
// its core to that of the lane and back: three cache lines for a frame, and a line that
// another core has costs 40 ns on good days and 180 on others. So a dealer reads of a
// plain frame what its hash needs, and writes down a number. What is odd is decoded
// twice. Fragments are put together by every lane for itself, so that nobody waits:
// they are few.
//
// # What it costs
//
// Measured on whole replays with all analyzers and rules on, in instructions and
// in peak memory, each against the state before; the ratios to other tools are in
// fixtures/bench.
//
//   - Rules compiled when they are first asked, and one table of builtins for all:
//     the start takes 0.3 of the time, a small capture half of the instructions.
//
//   - One environment for all subjects of a judgement: 0.7 of the bytes allocated.
//
//   - Lookups of a datagram flow in a record of their own instead of a talk, and
//     sockets and what waits in them used again: 0.7 of the memory of a capture of
//     small flows.
//
//   - JSON indented while it is written: 0.85 of the bytes allocated.
//
//   - First words without an answer in records without a pointer (early): 0.6 of
//     a socket with its half.
//
//   - Slabs that give their pages back while connections are folded at the end:
//     0.85 of the peak of a million open connections, which is below 1 GiB.
//
//   - A heap with a fixed headroom (cmd) instead of a share of what lives: 0.7 of
//     the memory for the same work. A fixed GOGC of 25 saved as much and cost up to
//     half of the time again.
//
//   - What every packet is asked for in its first 64 bytes: 0.92 of the CPU of a
//     capture of small packets. Places in the index by a product of the hash, because
//     the lane was chosen by its lowest bits: 0.9 with a million connections.
//
//   - Early records as long as their words, begins of connections in pages, first
//     hops by stream, a bound for the findings of one code: 0.8 of the peak of a
//     million connections, 0.9 of one of small flows.
//
//   - Fresh memory written before it is read: 0.97 of the time.
//
//   - Rules whose words are only made for what is shown, conditions as closures, rules
//     read only when a finding wakes them: 0.3 of what comes after the last packet.
//
//   - Hosts known by numbers, and tables of 64-bit keys without pointers instead of maps
//     keyed by addresses (package hosts); records only of what is odd; correlators that
//     are told only what they want to know: 0.5 of the CPU of the collector.
//
//   - Lists that grow by pages for summaries, findings and records: 0.9 of the memory of
//     a million connections, and most page faults of the collector gone.
//
//   - Packets dealt out to the lanes, probes that are not asked again about
//     the same bytes, keys compared in words, hashes of recent segments in one cache line,
//     names and ends looked up when they change: 0.95 of the instructions.
//
//   - Hellos, certificates and words that come again known again, heads of HTTP read in
//     place: 0.26 of the bytes that the analyzers of the web allocate.
//
//   - Analyzers of lookups dropped once these are answered: 0.9 of the memory of a capture
//     of small flows.
//
//   - A profile for the compiler (cmd/netwhy/default.pgo, make profile): 0.91 of the CPU,
//     and a sixth of the misses of the instruction cache.
//
//   - Frames and decoders filled in where they stand instead of copied from a literal: a
//     copy of 16 bytes at a time waits until all that was stored before, in pieces of 8,
//     has left for the cache, which was a twelfth of all time, in one instruction.
//
//   - TCP over IPv4 over Ethernet decoded in one go, with the timestamps and the first
//     bytes of the payload at hand; who reads a batch deals it out: 0.4 of the time of
//     decoding.
//
//   - Frames dealt out by a glance and decoded by their lane, into one Packet that is used
//     again: 0.86 of the time of a capture of small packets where the cores are far from
//     each other, and as much as before where they are near.
//
//   - The next segment in order taken the short way (tcp/predict.go), items of slabs found
//     by shifts instead of divisions, hashes of copies compared without a loop: 0.92 of the
//     instructions.
//
//   - Checksums of a direction with trouble verified until it is clear that none is wrong:
//     0.7 of the CPU of a capture of few connections with loss.
//
//   - A calm segment taken the short way through the ledger as well (ledger/calm.go),
//     turns accounted for without an exchange, the hash of a key from one product, probes
//     ruled out by the first byte, one guard for the messages of a segment: 0.75 of the
//     instructions of a mixed capture, 0.65 of one of small packets.
//
//   - Ten batches on their way instead of four: a stage that is ahead waits less often, and
//     to wake it costs more than what it waited for. 0.96 of the time.
//
//   - Checksums added up in two sums side by side: a long one takes 0.45 of the time.
//
//   - What the start, or the analysis, needed of the program's own file is unmapped before
//     what comes next begins (cmd/netwhy/internal/resident): 8 MiB of the peak.
//
//   - What is rare of a TCP connection kept apart, and its youngest segment without a
//     record of its own (tcp/state.go): 0.88 of the peak of a million open connections,
//     0.97 of the instructions of small packets.
//
//   - Pages of lists and tables written before anything reads them: the system gives a page
//     that is read first twice, the second time with a message to the other core. A third
//     of such faults is gone.
//
// Tried and left: batches of 64 KiB to 1 MiB (256 KiB is as good as any); reading the
// state of sixteen, or of eight, packets ahead, or asking for it by prefetching (no gain
// that could be measured); huge
// pages for the heap, by asking for its address space before anything is in it (a tenth of
// the page faults, and 0.87 of the time in some runs, but on virtual machines that give
// free pages back to their host clearing them costs more than that); mapping files
// instead of reading them (the same CPU); tags beside the keys of the correlators' tables
// (they are found as fast without), counts of protocols by number instead of name; code
// for newer processors (GOAMD64=v3: as fast); a heap that may grow to its earlier peak once
// the tables are dead (as fast, and 5 MiB more); batches and deltas taken from a stack
// instead of a queue (half a MiB); one goroutine that reads and deals, or three threads on
// two cores (slower).
//
// How fast a capture is read depends on how its pages lie in the kernel's cache: read anew
// into a cache that was idle for long, the same file took a quarter of the time.
//
// What a million open connections still cost each: 112 bytes here and 16 in the
// index, 112 in package tcp (the youngest segment without an acknowledgement among
// them), 168 in the ledger, and some 80 for a question without an answer.
package analyze
