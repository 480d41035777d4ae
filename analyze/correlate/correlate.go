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
	"netwhy/analyze/proto"
)

// Spec is one correlator, declared.
type Spec struct {
	Name  string
	Doc   string
	New   func() Correlator
	Codes []finding.Def
}

// Correlator reads events. State is bounded: what it forgets it counts.
type Correlator interface {
	// Event takes a fact that an analyzer (or the lanes: Opened, ICMPError,
	// Neighbour) published.
	Event(o *Out, e *proto.Event)
	// Conn takes the summary of a conversation when it is folded; it is valid
	// during the call only.
	Conn(o *Out, s *conn.Summary)
	// End is called once, when no more will come.
	End(o *Out)
}

// Out collects findings of correlators.
type Out struct {
	Emit func(f finding.Finding)
	Name func(a netip.Addr) string // the name a lookup gave for an address; empty: none
}

// Opened is published by the lanes when a conversation begins.
type Opened struct {
	ID             flow.ID
	Client, Server netip.AddrPort
	SrcMAC, DstMAC [6]byte
	SYN            bool // TCP: it begins with a SYN
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
