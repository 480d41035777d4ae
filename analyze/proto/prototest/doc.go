// Package prototest feeds one analyzer with bytes, times and gaps as the socket
// would, and records all it says.
//
// # Why not the engine
//
// A table test of a parser wants to say "these bytes, 20 ms later those", not
// build Ethernet frames. Conversation keeps the socket's promises (package
// proto): unused bytes of a stream come again, datagrams do not, Began is the
// time of the first byte at hand, an error detaches. What the engine does with
// whole captures is tested in package analyze.
package prototest
