// Package tcp follows TCP connections: it judges each segment as Wireshark
// does, measures round trips and windows, and hands the payload on in order.
//
// # Why
//
// Whoever reads a report checks it in Wireshark, so a "retransmission" must be
// exactly what Wireshark calls one, down to its oddities; better judgements are
// made elsewhere, from the figures of View. The meanings come from the Wireshark
// User's Guide ("TCP Analysis") and from what tshark 4.0 prints.
//
// A capture of a network under attack opens millions of connections, so the
// state of one is plain numbers in a slab without pointers, of 112 bytes, and
// all lists come from slabs with a bound. Loss must not stall an analyzer or
// grow a buffer, so a hole is given up as soon as the other side acknowledges
// its bytes or a bound is reached, and is then told as a gap of so many bytes.
package tcp
