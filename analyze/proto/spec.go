package proto

import (
	"slices"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// Transport is a set of what can carry a protocol.
type Transport uint8

// Carriers. Link is everything that is not IP (ARP, LLDP, STP ...), IP every IP
// protocol without ports but ICMP (OSPF, VRRP, IGMP ...).
const (
	TCP Transport = 1 << iota
	UDP
	ICMP // both versions
	IP
	Link
)

// Verdict is what a probe says of the first bytes of a conversation.
type Verdict uint8

// Verdicts of a probe.
const (
	No       Verdict = iota // not this protocol: never asked again
	NeedMore                // too few bytes to tell
	Likely                  // may be it: taken when nobody is certain, or when the port agrees
	Certain
)

// Spec is one analyzer, declared. Ports only order the probing; content decides.
type Spec struct {
	Name    string   // Wireshark's short name of the protocol: "dns", "tls", "http"
	Doc     string   // one line with the RFC
	Also    []string // further names that Scope.Carries may use
	Carrier Transport
	Ports   []uint16 // TCP and UDP
	// Unlisted are those of Ports that Wireshark does not know, and Anywhere tells that
	// it recognises the protocol by content. Elsewhere it counts what its tables of
	// ports say, and so does the report; findings and exchanges stay.
	Unlisted []uint16
	Anywhere bool
	// Taken reports whether Wireshark gives a conversation to another protocol by its
	// ports, and never looks at the content. nil: it does not.
	Taken   func(server, client uint16) bool
	Numbers []uint16 // Link: ethertypes (and LLC SAPs below 0x100); IP: protocol numbers
	// Probe looks at the first bytes in one direction (one datagram for UDP,
	// the frame's payload for IP and Link). It is pure. nil: Certain.
	Probe func(dir flow.Dir, b []byte) Verdict
	// First reports whether bytes in a direction may begin with c if Probe does not say
	// no to them, of MinFirst bytes and more. nil: they may begin with any. It is asked
	// once, for all bytes: Probe is spared what it would not look at twice.
	First func(dir flow.Dir, c byte) bool
	// Untold are the directions whose bytes tell nothing: Probe wants more than any.
	Untold [2]bool
	// Weak tells that the content proves too little: the probe is asked only
	// where one of the ports agrees.
	Weak bool
	// New makes the state of one conversation; it is called only after a probe
	// said yes. For ICMP, IP and Link there is one state for the whole capture,
	// and dir is always ToServer: who talks to whom is in the Packet.
	New func() Analyzer
	// Counts tells that the analyzer counts its frames by Scope.Carries itself: those
	// that complete a message, as Wireshark does. Else each that brings bytes counts.
	Counts bool
	Wraps  bool // the analyzer hands on what it unwrapped (Scope.Inner)
	// Message takes one message that came over SCTP, for counters, where the port or
	// the payload identifier is this protocol's. nil: it is named, and that is all.
	Message func(s *Scope, b []byte)
	// Again takes a segment that was sent again fast, for counters: Wireshark reads
	// it as if it were new. nil: it counts for the protocol, and that is all.
	Again func(s *Scope, dir flow.Dir, b []byte)
	Codes []finding.Def
}

// MinFirst is how many bytes have to be there for Spec.First to tell.
const MinFirst = 8

// Known reports whether Wireshark takes a conversation between two ports for this
// protocol, given that its content is.
func (s *Spec) Known(a, b uint16) bool {
	return s.Anywhere || s.Carrier&(TCP|UDP) == 0 || s.lists(a) || s.lists(b)
}

func (s *Spec) lists(port uint16) bool {
	return slices.Contains(s.Ports, port) && !slices.Contains(s.Unlisted, port)
}

// End tells an analyzer why its conversation is over.
type End uint8

// Reasons of an end.
const (
	Closed  End = iota // FIN in both directions
	Reset              // RST
	Idle               // nothing for long
	Evicted            // memory was needed
	Over               // the capture ended
)

// Analyzer reads one conversation. Calls come from one goroutine, in capture
// order. A panic or an error detaches it; what it said before stands.
type Analyzer interface {
	// Data takes the next in-order bytes of one direction (TCP), one datagram
	// (UDP), or one message (others), and returns how many bytes it used.
	// For TCP, unused bytes are offered again together with those that follow,
	// up to MaxBuffered; for the others what is not used is dropped.
	// b is valid during the call only.
	Data(s *Scope, dir flow.Dir, b []byte) (used int, err error)
	// Gap tells that n bytes of one direction were not captured. What was
	// unused before the gap is gone. An error detaches the analyzer.
	Gap(s *Scope, dir flow.Dir, n int) error
	// End is called once, last.
	End(s *Scope, why End)
}

// Rester is an analyzer of datagrams that may be dropped while it awaits nothing:
// one made anew takes what comes then. End is not called.
type Rester interface {
	// Rests reports that nothing is awaited, and nothing would be said at the end.
	Rests() bool
}

// Finisher is an Analyzer that wants to know when one end of a TCP connection has
// said its last: a FIN of it came. What was sent before may still come.
type Finisher interface {
	Finish(s *Scope, dir flow.Dir)
}

// MaxBuffered bounds the unused bytes kept for an analyzer in each direction of
// a TCP conversation. An analyzer that wants more must use what it has.
const MaxBuffered = 64 << 10
