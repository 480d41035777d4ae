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
//   - Packets dealt out to the lanes by the decoder, probes that are not asked again about
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
//   - Packets of two cache lines, with the timestamps and the first bytes of the payload
//     beside, so that a lane touches a frame only to read what is in it; TCP over IPv4 over
//     Ethernet decoded in one go; who reads a batch decodes it: 0.4 of the time of decoding.
//
//   - The next segment in order taken the short way (tcp/predict.go), items of slabs found
//     by shifts instead of divisions, hashes of copies compared without a loop: 0.92 of the
//     instructions.
//
//   - Checksums of a direction with trouble verified until it is clear that none is wrong:
//     0.7 of the CPU of a capture of few connections with loss.
//
// Tried and left: batches of 64 KiB to 1 MiB (256 KiB is as good as any); reading the
// state of sixteen, or of eight, packets ahead (no gain that could be measured); huge
// pages for the heap, by asking for its address space before anything is in it (a tenth of
// the page faults, and 0.87 of the time in some runs, but on virtual machines that give
// free pages back to their host clearing them costs more than that); mapping files
// instead of reading them (the same CPU); tags beside the keys of the correlators' tables
// (they are found as fast without), counts of protocols by number instead of name; code
// for newer processors (GOAMD64=v3: as fast); a heap that may grow to its earlier peak once
// the tables are dead (as fast, and 5 MiB more); letting go of the pages of the program's
// own file after the start (the kernel maps them again in large pieces).
//
// What a million open connections still cost each: 112 bytes here and 16 in the
// index, 160 in package tcp, 168 in the ledger, 32 for a segment without an
// acknowledgement, and some 80 for a question without an answer.
package analyze
