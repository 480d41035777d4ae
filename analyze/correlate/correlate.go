// Package correlate finds what no single conversation shows: scans and floods,
// two hosts with one address, a lookup that fails before the connection that
// never comes. Correlators read events of all conversations, in capture order,
// from one goroutine.
package correlate

import (
	"net/netip"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
)

// Spec is one correlator, declared.
type Spec struct {
	Name  string
	Doc   string
	New   func() Correlator
	Codes []finding.Def
}

// Correlator tells what it found when no more will come. What it reads until then it
// says by being a Listener, a Greeter or a Reader. State is bounded: what it forgets
// it counts.
type Correlator interface {
	End(o *Out)
}

// Listener is a correlator that takes the facts which analyzers published, and those
// of the lanes (ICMPError, Fragments, Repeated).
type Listener interface {
	Correlator
	// Hears lists a body of each type that Event is called for; none: all are. Most events
	// matter to one or two listeners of a dozen.
	Hears() []any
	Event(o *Out, e *proto.Event)
}

// Greeter is a correlator that takes conversations when they begin.
type Greeter interface {
	Correlator
	Opened(o *Out, x *Opened)
}

// Reader is a correlator that takes conversations when they are folded. Each is
// valid during the call only.
type Reader interface {
	Correlator
	Conn(o *Out, c *Folded)
}

// Folded is a conversation that was folded, and the numbers of its ends.
type Folded struct {
	*conn.Summary

	From, To hosts.Number // client and server
}

// Out collects findings of correlators.
type Out struct {
	Emit  func(f finding.Finding)
	Hosts *hosts.Numbers
}

// Opened tells that a conversation begins.
type Opened struct {
	ID             flow.ID
	Frame          uint64
	Time           int64
	Client, Server netip.AddrPort
	SrcMAC, DstMAC [6]byte
}

// ICMPError is published by the lanes for an ICMP or ICMPv6 error message.
type ICMPError struct {
	From       netip.Addr // who sent the error
	To         netip.Addr // who got it
	Type, Code uint8
	V6         bool
	MTU        uint16 // of fragmentation needed and packet too big; 0: none told
	Quoted     flow.Key
	QuotedSrcA bool    // the quoted packet went from A to B
	QuotedID   flow.ID // conversation quoted, if it is in the capture
	TTL        uint8   // of the packet that carries the error
	SentTTL    uint8   // that the quoted packet had when it passed the tap; 0: it did not
}
