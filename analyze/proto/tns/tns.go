// Package tns reads Oracle's Transparent Network Substrate: redirects to another
// port and refusals of the listener.
package tns

import (
	"encoding/binary"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Redirect finding.Code = "tns.redirect"
	Refused  finding.Code = "tns.refused"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "tns", Doc: "Oracle Transparent Network Substrate",
		Carrier: proto.TCP, Ports: []uint16{1521},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < headLen {
				return proto.NeedMore
			}
			n := binary.BigEndian.Uint16(b)
			if b[4] == connect && n >= 58 && b[2] == 0 && b[3] == 0 && b[6] == 0 && b[7] == 0 && len(b) >= 10 &&
				binary.BigEndian.Uint16(b[8:]) >= 0x0130 && binary.BigEndian.Uint16(b[8:]) <= 0x0150 {
				return proto.Certain
			}
			return proto.No
		},
		New: newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Redirect, Severity: finding.Info,
				Doc: "The listener sent the client to another address or port: firewalls must allow that too.",
				Metrics: []finding.Metric{
					{Name: "target", Text: true, Doc: "where to"},
					{Name: "times", Merge: finding.Sum, Doc: "redirects"},
				},
			},
			{
				Code: Refused, Severity: finding.Notice,
				Doc: "The listener refused the connection: no such service, or the instance is down.",
				Metrics: []finding.Metric{
					{Name: "text", Text: true, Doc: "the listener's words, with its error number"},
					{Name: "times", Merge: finding.Sum, Doc: "refusals"},
				},
			},
		},
	}
}

const (
	headLen                                     = 8
	connect, accept, refuse, redirect, lastType = 1, 2, 4, 5, 19
)

type analyzer struct {
	frames.Reader

	book ask.Book
	wide bool // lengths of four bytes, since the accepted version 315
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "tns"}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < headLen {
			return 0, nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if a.wide {
			n = int(binary.BigEndian.Uint32(b))
		}
		if n < headLen || b[4] == 0 || b[4] > lastType {
			return 0, errPacket
		}
		return n, nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errPacket fault = "no TNS packet where one begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	switch b[4] {
	case connect:
		a.book.Queue(s, 0, "connect", total)
	case accept:
		a.book.Answer(s, 0, "accept", false, total)
		const largeLengths = 315
		a.wide = len(b) >= 10 && binary.BigEndian.Uint16(b[8:]) >= largeLengths
	case redirect:
		if dir == flow.ToClient {
			a.book.Answer(s, 0, "redirect", false, total)
			s.Report(Redirect, finding.Text(ask.Clip(printable(b[min(len(b), 10):]))), finding.Num(1))
		}
	case refuse:
		a.book.Answer(s, 0, "refuse", true, total)
		s.Report(Refused, finding.Text(ask.Clip(printable(b[min(len(b), 12):]))), finding.Num(1))
	}
}

func printable(b []byte) []byte {
	return []byte(strings.TrimSpace(string(b)))
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
