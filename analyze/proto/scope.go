package proto

import (
	"net/netip"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/decode"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// Counter is one of the report's counters by key.
type Counter uint8

// Counters that analyzers fill (contract, "counters").
const (
	DNSRcode Counter = iota
	ICMPTypeCode
	ICMPv6TypeCode
	TLSAlert
	HTTPStatus
	Counters // number of counters
)

// Event is a fact that matters beyond its conversation: a lookup and its
// answer, an ARP reply, a router's advertisement. Correlators read events of
// all conversations in capture order.
type Event struct {
	Frame uint64
	Time  int64
	Flow  flow.ID // set on the way to the correlators; zero outside conversations
	Body  any     // a type of the package that published it
}

// Named is what events implement that tie names to addresses (answers of a
// lookup), so that reports and correlators can name hosts.
type Named interface {
	NamedAddrs() (name string, addrs []netip.Addr)
}

// Lookup is what such events implement that also know for whom, and how long it
// took: the connection that follows has waited for it.
type Lookup interface {
	Named
	LookedUp() (client netip.Addr, start, end int64)
}

// Sink receives what analyzers say. The lanes of package analyze are one;
// prototest has another. Values and exchanges are valid during the call only.
type Sink interface {
	Report(s *Scope, host netip.Addr, code finding.Code, v []finding.Value)
	ReportEvidence(s *Scope, host netip.Addr, code finding.Code, ev finding.Evidence, v []finding.Value)
	Malformed(s *Scope, reason string)
	Carries(s *Scope, name string)
	Count(c Counter, key string, n uint64)
	Exchange(s *Scope, x *conn.Exchange)
	Publish(s *Scope, body any)
	Secret(clientRandom []byte, label string) []byte
}

// Scope is all an analyzer sees and all it can say. There is no clock, logger or
// I/O behind it. It is valid during a call only.
type Scope struct {
	At         int64          // Now
	FrameNo    uint64         // Frame
	BeganAt    int64          // Began
	BeganFrame uint64         // Began
	Pkt        *decode.Packet // Packet
	Raw        []byte         // Bytes
	Key        *flow.Key      // of the conversation; nil: ClientEnd and ServerEnd tell
	ClientEnd  netip.AddrPort // Client
	ServerEnd  netip.AddrPort // Server
	Facts      *Facts         // of the conversation; nil for ICMP, IP and Link
	Next       *Handover      // where Become and Inner leave their wish; nil where there is no stream
	Conv       uint32         // the lane's number of the conversation, for the sink; 0: none
	Copy       bool           // Duplicate
	Stale      bool           // Late
	Overdue    bool           // Belated
	Held       bool           // Waited
	Quiet      bool           // Wireshark would not read this: nothing is counted
	ClientIsA  bool           // of Key
	Around     uint16         // name of the tunnel that this is in, for the sink; 0: none
	Vain       bool           // Resent
	Out        Sink

	exchange conn.Exchange   // at hand: so that those who hand one over allocate none
	values   []finding.Value // the same for those who report
	keeps    *kept           // what the lane's analyzers remember
}

// Facts is what analyzers found out about their conversation; it ends up in its
// summary.
type Facts struct {
	App   string // protocol recognised
	Name  string // server name: SNI, Host; hostile
	attrs *fact  // hostile
}

// MaxAttrs and MaxAttrBytes bound the facts kept of one conversation.
const (
	MaxAttrs     = 24
	MaxAttrBytes = 512
)

// Handover is an analyzer's wish about the rest of its stream.
type Handover struct {
	Again  bool                         // Become
	Tunnel bool                         // BecomeTunnel
	Port   uint16                       // BecomeTunnel
	Inner  func(dir flow.Dir, b []byte) // set by the socket: takes decrypted bytes
	Lost   func(dir flow.Dir, n int)    // set by the socket: decrypted bytes that cannot be had
}

// Now is the capture's time of the frame that completed the bytes at hand, ns
// since 1970 UTC.
func (s *Scope) Now() int64 { return s.At }

// Frame is the number of that frame.
func (s *Scope) Frame() uint64 { return s.FrameNo }

// Duplicate reports that the frame is a copy which the capture point made (a
// mirror port): it counts in counters, and is no second event.
func (s *Scope) Duplicate() bool { return s.Copy }

// Late reports, in a call of Data over TCP, that the segment at hand came out of order
// or again: Wireshark reads nothing of it.
func (s *Scope) Late() bool { return s.Stale }

// Belated reports that such a segment completes what comes now: it may have been
// waiting for that.
func (s *Scope) Belated() bool { return s.Overdue }

// Waited reports, in a call of Data over TCP, that the segment at hand came before bytes
// that belong in front of it, and has waited for them.
func (s *Scope) Waited() bool { return s.Held }

// Resent reports that such a segment was sent again, but not fast: Wireshark joins what
// came out of order to a message that waits for it, and drops this.
func (s *Scope) Resent() bool { return s.Vain }

// Began is the time and frame of the first byte at hand (b[0] of Data): with
// Now it bounds a message that came in several segments.
func (s *Scope) Began() (at int64, frame uint64) { return s.BeganAt, s.BeganFrame }

// Packet is what was decoded of the current frame: addresses, TTL, VLAN. It is
// nil in End.
func (s *Scope) Packet() *decode.Packet { return s.Pkt }

// Bytes are those that Packet's offsets refer to; nil in End.
func (s *Scope) Bytes() []byte { return s.Raw }

// Client is the end that opened the conversation.
func (s *Scope) Client() netip.AddrPort {
	switch {
	case s.Key == nil:
		return s.ClientEnd
	case s.ClientIsA:
		return s.Key.AddrA()
	}
	return s.Key.AddrB()
}

// Server is the other end.
func (s *Scope) Server() netip.AddrPort {
	switch {
	case s.Key == nil:
		return s.ServerEnd
	case s.ClientIsA:
		return s.Key.AddrB()
	}
	return s.Key.AddrA()
}

// Report notes one occurrence of a symptom on this conversation at this frame.
// Values stand in the order of the code's Def.
func (s *Scope) Report(code finding.Code, v ...finding.Value) {
	s.ReportHost(netip.Addr{}, code, v...)
}

// ReportHost notes a symptom that belongs to a host rather than a conversation.
func (s *Scope) ReportHost(host netip.Addr, code finding.Code, v ...finding.Value) {
	s.values = append(s.values[:0], v...)
	s.Out.Report(s, host, code, s.values)
}

// ReportEvidence reports a symptom with proof that was gathered before, for those
// who judge at the end.
func (s *Scope) ReportEvidence(host netip.Addr, code finding.Code, ev finding.Evidence, v ...finding.Value) {
	s.values = append(s.values[:0], v...)
	s.Out.ReportEvidence(s, host, code, ev, s.values)
}

// Malformed counts bytes that break the protocol; it is reported once a
// conversation. The reason is a constant phrase.
func (s *Scope) Malformed(reason string) { s.Out.Malformed(s, reason) }

// Carries counts the current frame for a protocol in the report's
// counters.protocols. The socket does so for the analyzer's own name on every
// Data call; this is for further names (h2 inside tls, gRPC).
func (s *Scope) Carries(name string) {
	if !s.Quiet {
		s.Out.Carries(s, name)
	}
}

// Count adds one to a counter of the report.
func (s *Scope) Count(c Counter, key string) {
	if !s.Quiet {
		s.Out.Count(c, key, 1)
	}
}

// Exchange hands over one finished (or given up) request and response; the
// ledger of its time is made by the receiver.
func (s *Scope) Exchange(x *conn.Exchange) {
	s.exchange = *x
	s.Out.Exchange(s, &s.exchange)
}

// Publish tells the correlators a fact. The body must not alias b.
func (s *Scope) Publish(body any) { s.Out.Publish(s, body) }

// Secret looks up a TLS secret of the key log by label ("CLIENT_RANDOM",
// "SERVER_HANDSHAKE_TRAFFIC_SECRET" ...); nil: unknown.
func (s *Scope) Secret(clientRandom []byte, label string) []byte {
	return s.Out.Secret(clientRandom, label)
}

// App names the protocol of the conversation for its summary.
func (s *Scope) App(name string) {
	if s.Facts != nil {
		s.Facts.App = name
	}
}

// Name notes the server's name as the client called it.
func (s *Scope) Name(name string) {
	if s.Facts != nil && s.Facts.Name == "" {
		s.Facts.Name = clip(name)
	}
}

// Attr notes a fact of the conversation; the first value of a key stays.
func (s *Scope) Attr(key, value string) {
	f := s.Facts
	if f == nil {
		return
	}
	value = clip(value)
	switch a := f.attrs; {
	case a != nil && a.leadsTo(key, value):
		f.attrs = a.next
	case a == nil || a.n < MaxAttrs && !a.has(key):
		f.attrs = s.kept().with(a, key, value)
	}
}

func clip(v string) string { return v[:min(len(v), MaxAttrBytes)] }

// Become ends this analyzer after the current call and lets the rest of the
// stream be probed anew (STARTTLS, CONNECT, Upgrade).
func (s *Scope) Become() {
	if s.Next != nil {
		s.Next.Again = true
	}
}

// BecomeTunnel is Become where the rest of the stream goes through this connection to
// another host and port (CONNECT, SOCKS).
func (s *Scope) BecomeTunnel(target string) {
	port, err := strconv.ParseUint(target[strings.LastIndexByte(target, ':')+1:], 10, 16)
	if s.Next != nil && err == nil {
		s.Next.Tunnel, s.Next.Port = true, uint16(port)
	}
	s.Become()
}

// Inner hands decrypted bytes to whatever analyzer recognises them.
func (s *Scope) Inner(dir flow.Dir, b []byte) {
	if s.Next != nil && s.Next.Inner != nil {
		s.Next.Inner(dir, b)
	}
}

// InnerLost tells that decrypted bytes could not be had.
func (s *Scope) InnerLost(dir flow.Dir, n int) {
	if s.Next != nil && s.Next.Lost != nil {
		s.Next.Lost(dir, n)
	}
}
