// Package isakmp reads the Internet Key Exchange, versions 1 (RFC 2408) and 2 (RFC
// 7296): handshakes without answer, and notifications that refuse.
package isakmp

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
	NoAnswer finding.Code = "isakmp.no-answer"
	Refused  finding.Code = "isakmp.refused"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "Internet Key Exchange, RFC 7296 and RFC 2408",
		Carrier: proto.UDP, Ports: []uint16{500},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if isMessage(b) {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: name}} },
		Codes: []finding.Def{
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc: "Requests to begin an exchange have no answer: the peer is down or does not know this one, or UDP 500 and 4500 are blocked.",
				Metrics: []finding.Metric{
					{Name: "requests", Merge: finding.Sum, Doc: "times sent"},
				},
			},
			{
				Code: Refused, Severity: finding.Notice,
				Doc: "A notification in clear text refused the exchange (RFC 7296, 3.10.1; RFC 2408, 3.14.1).",
				Metrics: []finding.Metric{
					{Name: "notification", Text: true, Doc: "name or number"},
					{Name: "version", Merge: finding.Last, Doc: "1 or 2"},
					{Name: "times", Merge: finding.Sum, Doc: "notifications"},
				},
			},
		},
	}
}

// isMessage reports whether a header tells the length that is there.
func isMessage(b []byte) bool {
	return len(b) >= headLen && int(binary.BigEndian.Uint32(b[24:])) == len(b) && (b[17] == 0x10 || b[17] == 0x20)
}

const (
	headLen                      = 28
	flagResponse                 = 0x20
	saInit, informational1       = 34, 5
	mainMode, aggressive         = 2, 4
	notify1, notify2             = 11, 41
	patience               int64 = 4_000_000_000
)

type analyzer struct{ book ask.Book }

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	n := len(b)
	if marked(b) {
		b = b[markerLen:]
	}
	if len(b) < headLen || s.Duplicate() {
		return n, nil
	}
	version, exchange, id := b[17]>>4, b[18], binary.BigEndian.Uint64(b)
	begins := binary.BigEndian.Uint64(b[8:]) == 0
	switch {
	case version == 2 && exchange == saInit && b[19]&flagResponse == 0, version == 1 && begins && (exchange == mainMode || exchange == aggressive):
		a.book.Ask(s, id, "exchange", len(b))
	case version == 2 && exchange == saInit, version == 1 && dir == flow.ToClient:
		a.book.Answer(s, id, "ok", false, len(b))
	}
	a.payloads(s, version, exchange, b)
	return n, nil
}

// payloads looks for notifications among those in clear text.
func (*analyzer) payloads(s *proto.Scope, version, exchange byte, b []byte) {
	const encrypted1 = 1
	if version == 1 && b[19]&encrypted1 != 0 || version == 2 && exchange != saInit || version == 1 && exchange != informational1 {
		return
	}
	next, v := b[16], b[headLen:]
	for next != 0 && len(v) >= 4 {
		size := int(binary.BigEndian.Uint16(v[2:]))
		if size < 4 || size > len(v) {
			return
		}
		at := 0
		switch {
		case version == 2 && next == notify2 && size >= 8:
			at = 6
		case version == 1 && next == notify1 && size >= 12:
			at = 10
		}
		if at > 0 {
			const lastError = 8192
			if code := binary.BigEndian.Uint16(v[at:]); code > 0 && code < lastError && (version != 2 || code != 17) {
				s.Report(Refused, finding.Text(notification(version, code)), finding.Num(version), finding.Num(1))
			}
		}
		next, v = v[0], v[size:]
	}
}

func notification(version byte, code uint16) string {
	switch {
	case code == 14:
		return "NO_PROPOSAL_CHOSEN"
	case code == 24:
		return "AUTHENTICATION_FAILED"
	case code == 7:
		return "INVALID_SYNTAX"
	case version == 1 && code == 18:
		return "INVALID_ID_INFORMATION"
	case version == 1 && code == 11, version == 2 && code == 11:
		return "INVALID_SPI"
	case version == 2 && code == 38:
		return "TS_UNACCEPTABLE"
	}
	return strconv.Itoa(int(code))
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	a.book.GiveUp(s, patience, func(at *proto.Scope, r *ask.Request, _ int64) {
		at.Report(NoAnswer, finding.Num(r.Times))
	})
}
