// Package ntp reads the Network Time Protocol (RFC 5905): servers that have no
// time themselves, kisses of death, and questions without answer.
package ntp

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of findings.
const (
	Unsynchronized finding.Code = "ntp.unsynchronized"
	Kiss           finding.Code = "ntp.kiss-code"
	NoAnswer       finding.Code = "ntp.no-answer"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "ntp", Doc: "Network Time Protocol, RFC 5905",
		Carrier: proto.UDP, Ports: []uint16{123}, Weak: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "ntp"}} },
		Codes: []finding.Def{
			{
				Code: Unsynchronized, Severity: finding.Notice,
				Doc: "A server answered that it has no time itself: leap indicator 3, or stratum 0 or 16 (RFC 5905, 7.3). Clients must not take its time.",
				Metrics: []finding.Metric{
					{Name: "leap", Doc: "leap indicator"},
					{Name: "stratum", Doc: "stratum"},
					{Name: "reference", Text: true, Doc: "reference id, where it is a text"},
					{Name: "answers", Merge: finding.Sum, Doc: "such answers"},
				},
			},
			{
				Code: Kiss, Severity: finding.Notice,
				Doc: "A server sent a kiss-o'-death: it wants this client to ask less (RATE) or not at all (DENY, RSTR; RFC 5905, 7.4).",
				Metrics: []finding.Metric{
					{Name: "kiss", Text: true, Doc: "the code"},
					{Name: "answers", Merge: finding.Sum, Doc: "such answers"},
				},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc: "A question for the time has no answer in the capture, five seconds long or after a repetition.",
				Metrics: []finding.Metric{
					{Name: "requests", Merge: finding.Sum, Doc: "questions without answer"},
					{Name: "waited_seconds", Merge: finding.Max, Doc: "longest wait to the end of the conversation or capture"},
				},
			},
		},
	}
}

const (
	headLen                        = 48
	modeClient, modeServer         = 3, 4
	modeControl, modePrivate       = 6, 7
	leapUnknown, stratumNone       = 3, 16
	patience                 int64 = 5_000_000_000
	stratumKiss                    = 0
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < 4 {
		return proto.No
	}
	version, mode := b[0]>>3&7, b[0]&7
	switch {
	case version == 0 || version > 4:
		return proto.No
	case mode == modeControl || mode == modePrivate:
		return proto.Likely
	case len(b) < headLen || mode == 0 && version > 1 || b[1] > stratumNone:
		return proto.No
	}
	return proto.Likely
}

type analyzer struct{ book ask.Book }

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if len(b) < headLen || s.Duplicate() {
		return len(b), nil
	}
	switch b[0] & 7 {
	case modeClient:
		a.book.Ask(s, binary.BigEndian.Uint64(b[40:]), "time", len(b))
	case modeServer:
		a.server(s, b)
	}
	return len(b), nil
}

func (a *analyzer) server(s *proto.Scope, b []byte) {
	leap, stratum := b[0]>>6, b[1]
	kiss := ""
	if stratum == stratumKiss {
		kiss = code(b[12:16])
	}
	bad := leap == leapUnknown || stratum == stratumKiss || stratum >= stratumNone
	result := "ok"
	switch {
	case kiss == "DENY" || kiss == "RSTR" || kiss == "RATE":
		result = kiss
		s.Report(Kiss, finding.Text(kiss), finding.Num(1))
	case bad:
		result = "unsynchronized"
		s.Report(Unsynchronized, finding.Num(leap), finding.Num(stratum), finding.Text(kiss), finding.Num(1))
	}
	a.book.Answer(s, binary.BigEndian.Uint64(b[24:]), result, bad, len(b))
}

// code is the reference id where it is a text of four letters.
func code(b []byte) string {
	n := 0
	for ; n < len(b) && b[n] != 0; n++ {
		if b[n] < 'A' || b[n] > 'Z' {
			return ""
		}
	}
	return string(b[:n])
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	a.book.GiveUp(s, patience, func(at *proto.Scope, _ *ask.Request, waited int64) {
		at.Report(NoAnswer, finding.Num(1), finding.Num(float64(waited)/1e9))
	})
}
