// Package ledger is the measuring half of the TCP analysis: package tcp says of
// each segment what it is, the ledger says what it cost. It keeps a book for
// every conversation and, when the conversation is folded, fills in its summary,
// splits the time of its exchanges and tells its symptoms.
//
// It never judges who is to blame for good: it emits findings with figures, and
// rules decide. It does no I/O, takes no lock and reads no clock but that of the
// segments.
//
// # How time is split
//
// Waits are noted in a log when the segment that ends them is seen, because only
// that segment tells why there was a wait: a retransmission, data after a closed
// window, new data although everything was acknowledged. An exchange is cut
// into request, wait and response; what the log knows of these three intervals
// goes to loss stall, window stall and sender idle, what is left to request
// send, path and server think, and transfer. Integers only, every part is cut out
// of what is left: the parts add up to the whole to the nanosecond.
//
// # Why halves of the round trip
//
// A tap sees a round trip in two halves: tap to server and back, tap to client
// and back. The wait between a request and its answer holds the first, a pause
// between data and what its acknowledgement sets free holds the second. With both
// the same split is right at the client, at the server and in between.
//
// # Why three sizes of book
//
// Most connections of a busy capture are scans, refusals and lookups, and many of
// the rest have asked something and nothing more. They cost one record of 168 bytes;
// a connection with exchanges costs a talk; only one that carries much, or has
// trouble, a bulk. Records hold no pointer, so that the collector does not look at
// them.
//
// # Why two ways
//
// Nine segments of ten are the next in order of a connection that stands, and nothing
// is odd about them. They take a short way (calm.go) that asks for all the rare
// conditions at once and then does what the long way (talk.go) would do: a test holds
// one to the other. What changes what such a segment means has to be noted where the
// short way asks: in the flags of the voices (hurt, odd) or of the record.
package ledger
