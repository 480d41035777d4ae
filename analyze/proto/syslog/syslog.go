// Package syslog reads the BSD and IETF syslog protocols (RFC 3164, RFC 5424)
// over UDP and TCP: how severe the messages are that pass by.
package syslog

import (
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Severe is reported for messages of severity error and above.
const Severe finding.Code = "syslog.severe"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "Syslog, RFC 5424 and RFC 3164",
		Carrier: proto.UDP, Ports: []uint16{514}, Weak: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if _, _, ok := priority(b); ok {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{{
			Code: Severe, Severity: finding.Info,
			Doc: "A device logged messages of severity emergency, alert or critical (RFC 5424, 6.2.1).",
			Metrics: []finding.Metric{
				{Name: "severity", Merge: finding.Min, Doc: "0 emergency, 1 alert, 2 critical"},
				{Name: "text", Text: true, Doc: "beginning of the first"},
				{Name: "messages", Merge: finding.Sum, Doc: "such messages"},
			},
		}},
	}
}

const (
	name        = "syslog"
	maxPriority = 191
	critical    = 2
)

// priority reads "<number>" at the beginning (RFC 5424, 6.2.1).
func priority(b []byte) (p, at int, ok bool) {
	if len(b) < 3 || b[0] != '<' {
		return 0, 0, false
	}
	for at = 1; at < min(len(b), 5); at++ {
		if b[at] == '>' {
			return p, at + 1, at > 1 && p <= maxPriority
		}
		if b[at] < '0' || b[at] > '9' {
			return 0, 0, false
		}
		p = p*10 + int(b[at]-'0')
	}
	return 0, 0, false
}

type analyzer struct{}

// Data takes one message.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	message(s, b)
	return len(b), nil
}

func message(s *proto.Scope, b []byte) {
	p, at, ok := priority(b)
	if ok && p&7 <= critical && !s.Duplicate() {
		s.Report(Severe, finding.Num(p&7), finding.Text(ask.Clip(b[at:])), finding.Num(1))
	}
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (analyzer) End(*proto.Scope, proto.End) {}
