// Package openvpn reads the control packets of OpenVPN over UDP: sessions that
// nobody answers.
package openvpn

import (
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// NoAnswer is reported for a client that nobody answers.
const NoAnswer finding.Code = "openvpn.no-answer"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "openvpn", Doc: "OpenVPN",
		Carrier: proto.UDP, Ports: []uint16{1194},
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{} },
		Codes: []finding.Def{{
			Code: NoAnswer, Severity: finding.Notice,
			Doc: "A client began a session three times or more and got no answer: the server is down, a firewall drops the datagrams, or the keys that protect the control channel (tls-auth, tls-crypt) differ.",
			Metrics: []finding.Metric{
				{Name: "attempts", Merge: finding.Max, Doc: "times it began"},
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first to the last"},
			},
		}},
	}
}

// Operations (upper five bits of the first byte).
const (
	resetClient2, resetServer2, resetClient3 = 7, 8, 10
	control, ack                             = 4, 5
)

// probe knows the first packet of each end: a new session id, no
// acknowledgement or one, packet number 0.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < 14 || b[0]&7 != 0 {
		return proto.No
	}
	switch op := b[0] >> 3; {
	case op == resetClient2 && len(b) == 14 && b[9] == 0 && zero(b[10:14]):
		return proto.Certain
	case (op == resetClient2 || op == resetClient3) && (len(b) == 42 || len(b) == 54 || len(b) == 86): // with tls-auth or tls-crypt
		return proto.Likely
	case op == resetServer2 && len(b) == 26 && b[9] == 1:
		return proto.Certain
	}
	return proto.No
}

func zero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

type analyzer struct {
	attempts    uint64
	answered    bool
	first, last int64
	frame       uint64
}

// Data takes one datagram.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if len(b) == 0 || s.Duplicate() {
		return len(b), nil
	}
	switch b[0] >> 3 {
	case resetClient2, resetClient3:
		if a.attempts++; a.attempts == 1 {
			a.first = s.Now()
		}
		a.last, a.frame = s.Now(), s.Frame()
	case resetServer2, control, ack:
		a.answered = true
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	const repeated = 3
	if !a.answered && a.attempts >= repeated {
		at := *s
		at.FrameNo, at.At = a.frame, a.last
		at.Report(NoAnswer, finding.Num(a.attempts), finding.Num(float64(a.last-a.first)/1e9))
	}
}
