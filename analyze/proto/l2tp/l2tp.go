// Package l2tp reads the control messages of the Layer Two Tunneling Protocol, both
// versions (RFC 2661, RFC 3931): tunnels and calls that an end refuses, and those that
// nobody answers. What the tunnel carries the decoder reads.
package l2tp

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of findings.
const (
	Refused  finding.Code = "l2tp.refused"
	NoAnswer finding.Code = "l2tp.no-answer"
)

const name = "l2tp"

const (
	headLen = 12
	control = 0xc800 // control message, with length and sequence (RFC 2661, 3.1)
	// Message types (RFC 2661, 3.2).
	startRequest, startReply, stop         = 1, 2, 4
	outgoingRequest, outgoingReply         = 7, 8
	incomingRequest, incomingReply, cancel = 10, 11, 14
	// A request is sent again after 1, 2, 4 and 8 s (RFC 2661, 5.8).
	patience = 5_000_000_000
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	what := finding.Metric{Name: "what", Text: true, Doc: "tunnel or call"}
	return proto.Spec{
		Name: name, Doc: "Layer Two Tunneling Protocol, RFC 2661 and RFC 3931",
		Carrier: proto.UDP, Ports: []uint16{1701}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if _, ok := parse(b); ok {
				return proto.Certain
			}
			return proto.No
		},
		New:    func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: name}} },
		Counts: true, // the decoder does
		Codes: []finding.Def{
			{
				Code: Refused, Severity: finding.Notice,
				Doc: "One end refused the tunnel or a call in it, or ended it with an error (RFC 2661, 4.4.2: result and error code of StopCCN and CDN). That a tunnel is cleared or a call hung up is no refusal.",
				Metrics: []finding.Metric{
					what,
					{Name: "result", Doc: "result code"},
					{Name: "reason", Text: true, Doc: "its meaning"},
					{Name: "error", Doc: "error code; 0: none"},
					{Name: "text", Text: true, Doc: "words of the one who refuses"},
					{Name: "by_server", Merge: finding.Max, Doc: "1 when the server refused"},
					{Name: "times", Merge: finding.Sum, Doc: "refusals"},
				},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc: "A request for a tunnel or a call has no answer: it was sent again, or five seconds passed.",
				Metrics: []finding.Metric{
					what,
					{Name: "requests", Merge: finding.Sum, Doc: "times that it was sent"},
					{Name: "waited_seconds", Merge: finding.Max, Doc: "from the request to the end of the conversation"},
				},
			},
		},
	}
}

// message is what a control message says.
type message struct {
	kind          uint16
	result, error uint16
	text          []byte
}

// parse reads header and attributes (RFC 2661, 3.1 and 4.1); those of version 3 are
// laid out alike (RFC 3931, 3.2.1 and 5.1).
func parse(b []byte) (m message, ok bool) {
	const lengthBits, hidden = 0x03ff, 0x4000
	if len(b) < headLen {
		return m, false
	}
	f, n := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
	if f&control != control || f&0xf != 2 && f&0xf != 3 || n < headLen || n > len(b) {
		return m, false
	}
	const attributes = 64 // of one message that are looked at
	v := b[headLen:n]
	for range attributes {
		if len(v) < 6 {
			break
		}
		head, vendor, kind := binary.BigEndian.Uint16(v), binary.BigEndian.Uint16(v[2:]), binary.BigEndian.Uint16(v[4:])
		size := int(head & lengthBits)
		if size < 6 || size > len(v) {
			return m, false
		}
		if vendor == 0 && head&hidden == 0 {
			m.attribute(kind, v[6:size])
		}
		v = v[size:]
	}
	return m, true
}

func (m *message) attribute(kind uint16, v []byte) {
	const messageType, resultCode = 0, 1
	switch {
	case kind == messageType && len(v) >= 2:
		m.kind = binary.BigEndian.Uint16(v)
	case kind == resultCode && len(v) >= 2:
		m.result = binary.BigEndian.Uint16(v)
		if len(v) >= 4 {
			m.error, m.text = binary.BigEndian.Uint16(v[2:]), v[4:]
		}
	}
}

const tunnel, call = 0, 1 // what is asked for, as the id of a request

type analyzer struct{ book ask.Book }

// Data takes one message; data of the tunnel are passed over.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	m, ok := parse(b)
	if !ok || s.Duplicate() {
		return len(b), nil
	}
	switch m.kind {
	case startRequest:
		a.book.Ask(s, tunnel, "tunnel", len(b))
	case incomingRequest, outgoingRequest:
		a.book.Ask(s, call, "call", len(b))
	case startReply:
		a.book.Answer(s, tunnel, "ok", false, len(b))
	case incomingReply, outgoingReply:
		a.book.Answer(s, call, "ok", false, len(b))
	case stop:
		a.ended(s, dir, tunnel, &m, len(b))
	case cancel:
		a.ended(s, dir, call, &m, len(b))
	}
	return len(b), nil
}

// ended takes the end of a tunnel or call: a refusal where it was only asked for.
func (a *analyzer) ended(s *proto.Scope, dir flow.Dir, id uint64, m *message, n int) {
	_, _, asked := a.book.Answer(s, id, strconv.Itoa(int(m.result)), true, n)
	what, reason, fault := "tunnel", tunnelResult(m.result), m.result > 1 && m.result != 6
	if id == call {
		what, reason, fault = "call", callResult(m.result), m.result == 2
	}
	if !asked && !fault {
		return
	}
	server := 0
	if dir == flow.ToClient {
		server = 1
	}
	s.Report(Refused, finding.Text(what), finding.Num(m.result), finding.Text(reason), finding.Num(m.error), finding.Text(ask.Clip(m.text)),
		finding.Num(server), finding.Num(1))
}

const other = "other"

func tunnelResult(n uint16) string {
	names := [...]string{
		1: "cleared", 2: "general error", 3: "there is one already", 4: "not authorized", 5: "version not supported", 6: "shutting down",
		7: "unexpected message",
	}
	if int(n) < len(names) && n > 0 {
		return names[n]
	}
	return other
}

func callResult(n uint16) string {
	names := [...]string{
		1: "carrier lost", 2: "general error", 3: "administrative reasons", 4: "no facilities for the moment", 5: "no facilities", 6: "invalid destination",
		7: "no carrier", 8: "busy", 9: "no dial tone", 10: "timeout", 11: "no framing",
	}
	if int(n) < len(names) && n > 0 {
		return names[n]
	}
	return other
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	a.book.GiveUp(s, patience, func(at *proto.Scope, r *ask.Request, waited int64) {
		at.Report(NoAnswer, finding.Text(r.Label), finding.Num(r.Times), finding.Num(float64(waited)/1e9))
	})
}
