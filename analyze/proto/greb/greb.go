// Package greb reads the control messages of GRE tunnel bonding (RFC 8157): which
// of the bonded access lines fails.
package greb

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// LineFailed is reported when a gateway tells that one of its lines failed.
const LineFailed finding.Code = "grebonding.line-failed"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "grebonding", Doc: "GRE tunnel bonding, RFC 8157",
		Carrier: proto.IP, Numbers: []uint16{47},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if control(b) != nil {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{{
			Code: LineFailed, Severity: finding.Notice,
			Doc: "A home gateway or its peer told that one line of a bonded access failed (RFC 8157, 5.6): traffic goes over the other.",
			Metrics: []finding.Metric{
				{Name: "line", Text: true, Doc: "dsl or lte"},
				{Name: "times", Merge: finding.Sum, Doc: "notifications"},
			},
		}},
	}
}

// Attributes (RFC 8157, 5.6).
const (
	notify           = 6
	dslFail, lteFail = 18, 19
	fin              = 255
)

// control returns the control message behind a GRE header with a key and nothing
// else (RFC 8157, 5); nil: it is something else. 0x0101 is the type that was used
// before the registration.
func control(b []byte) []byte {
	const keyOnly, head = 0x2000, 8
	const registered, before = 0xb7ea, 0x0101
	if len(b) < head+3 || binary.BigEndian.Uint16(b) != keyOnly {
		return nil
	}
	if t := binary.BigEndian.Uint16(b[2:]); t != registered && t != before {
		return nil
	}
	if b = b[head:]; b[0]>>4 < 1 || b[0]>>4 > notify || b[0]&15 > 2 {
		return nil
	}
	return b
}

type analyzer struct{}

// Data takes one message.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	n := len(b)
	if b = control(b); b == nil || s.Duplicate() || b[0]>>4 != notify {
		return n, nil
	}
	for b = b[1:]; len(b) >= 2 && b[0] != fin && len(b) >= 2+int(b[1]); b = b[2+int(b[1]):] {
		switch b[0] {
		case dslFail:
			s.Report(LineFailed, finding.Text("dsl"), finding.Num(1))
		case lteFail:
			s.Report(LineFailed, finding.Text("lte"), finding.Num(1))
		}
	}
	return n, nil
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (analyzer) End(*proto.Scope, proto.End) {}
