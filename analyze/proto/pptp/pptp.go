// Package pptp reads the control connection of the Point-to-Point Tunneling Protocol
// (RFC 2637): tunnels and calls that the server refuses.
package pptp

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/frames"
)

// Refused is the code of a refusal.
const Refused finding.Code = "pptp.refused"

const (
	magic   = 0x1a2b3c4d
	headLen = 12
	// Message types (RFC 2637, 1.4) that carry a result.
	startReply, outgoingReply, incomingReply = 2, 8, 10
	startResult, callResult                  = 14, 16 // their place
	accepted                                 = 1
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "pptp", Doc: "Point-to-Point Tunneling Protocol, RFC 2637",
		Carrier: proto.TCP, Ports: []uint16{1723},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			switch {
			case len(b) >= 4 && binary.BigEndian.Uint16(b[2:]) != 1:
				return proto.No
			case len(b) < 8:
				return proto.NeedMore
			case binary.BigEndian.Uint32(b[4:]) != magic:
				return proto.No
			}
			return proto.Certain
		},
		New: newAnalyzer,
		Codes: []finding.Def{{
			Code: Refused, Severity: finding.Notice,
			Doc: "The server refused the tunnel or a call in it (RFC 2637, 2.2 and 2.8).",
			Metrics: []finding.Metric{
				{Name: "what", Text: true, Doc: "tunnel or call"},
				{Name: "reason", Text: true, Doc: "meaning of the code"},
				{Name: "times", Merge: finding.Sum, Doc: "refusals"},
			},
		}},
	}
}

type analyzer struct{ frames.Reader }

type fault string

func (f fault) Error() string { return string(f) }

const errLength fault = "length of a PPTP message is impossible"

func newAnalyzer() proto.Analyzer {
	a := &analyzer{}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 2 {
			return 0, nil
		}
		n := int(binary.BigEndian.Uint16(b))
		if n < headLen {
			return 0, errLength
		}
		return n, nil
	}
	a.Message = message
	return a
}

func message(s *proto.Scope, _ flow.Dir, b []byte, _ int) {
	if len(b) < headLen {
		return
	}
	what, at := "call", callResult
	switch binary.BigEndian.Uint16(b[8:]) {
	case startReply:
		what, at = "tunnel", startResult
	case outgoingReply, incomingReply:
	default:
		return
	}
	if len(b) <= at || b[at] == accepted {
		return
	}
	s.Report(Refused, finding.Text(what), finding.Text(reason(what, b[at])), finding.Num(1))
}

func reason(what string, code byte) string {
	names := [...]string{2: "general error", 3: "no carrier", 4: "busy", 5: "no dial tone", 6: "timeout", 7: "not accepted"}
	if what == "tunnel" {
		names = [...]string{2: "general error", 3: "there is one already", 4: "not authorized", 5: "version not supported", 7: ""}
	}
	if int(code) < len(names) && names[code] != "" {
		return names[code]
	}
	return "other"
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
