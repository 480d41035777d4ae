// Package dns reads DNS over UDP and TCP, mDNS and LLMNR, and pairs each answer
// with its query.
//
// A datagram passes through three files: message.go walks the bytes and knows
// nothing of time; analyzer.go keeps the open queries of one conversation;
// event.go is what other packages learn of a finished lookup.
//
// # Why an own decoder
//
// The analyzer needs of most messages a name, a code and some addresses, and it
// meets one message a conversation, since resolvers take a new port for each
// query: a decoder that builds a tree of records would spend its time in the
// allocator. miekg/dns builds such a tree and golang.org/x/net/dns/dnsmessage
// stops at the first record that it dislikes, where a report wants the code in
// the header all the same. gopacket's decoder panics on hostile bytes.
//
// # Why so little is judged here
//
// A query that goes to a second resolver, or again from another port, is another
// conversation. What needs several of them (bursts, a silent resolver, a TCP
// retry that is dropped) is for package correlate.
package dns
