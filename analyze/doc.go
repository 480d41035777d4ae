// Package analyze turns batches of captured frames into findings, conversations
// and counters. It has no clock, logger, file or socket: the same frames give
// the same result, bit for bit, for any number of workers.
//
// # The walk of a batch
//
//	source -> Run -> decode stage -> lanes -> collector -> Result
//
// Run takes a batch from its source and hands the same batch to every lane; no
// byte is copied. Decoding has no state, so whichever decoder is free does a
// batch; lanes wait for it. A lane owns the conversations whose symmetric hash
// falls to it, with everything that has state: tables, TCP analysis, analyzers,
// time ledger. It takes no lock and shares nothing. What a lane has to say about
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
// # Why the lanes do not decode
//
// Every lane has to know the hash of every frame. If each decoded for itself,
// two lanes would do the work twice; if one dispatcher did it, it would be the
// part that does not scale. Fragments are the exception: they are few, and
// every lane puts them together for itself, so that nobody waits.
package analyze
