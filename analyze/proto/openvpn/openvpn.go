// Package openvpn reads the control packets of OpenVPN over UDP and TCP: sessions
// that nobody answers.
package openvpn

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// NoAnswer is reported for a client that nobody answers.
const NoAnswer finding.Code = "openvpn.no-answer"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "OpenVPN",
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

// TCP declares the same over TCP: each packet has its length before it. Codes are
// declared by Spec.
func TCP() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "OpenVPN over TCP",
		Carrier: proto.TCP, Ports: []uint16{1194},
		Probe: func(dir flow.Dir, b []byte) proto.Verdict {
			if len(b) < lengthLen {
				return proto.NeedMore
			}
			n := int(binary.BigEndian.Uint16(b))
			switch b = b[lengthLen:]; {
			case n > firstMost || len(b) > 0 && b[0]>>3 != resetClient2 && b[0]>>3 != resetClient3 && b[0]>>3 != resetServer2:
				return proto.No
			case len(b) < n:
				return proto.NeedMore
			}
			return probe(dir, b[:n])
		},
		New: func() proto.Analyzer { return &stream{} },
	}
}

const (
	name      = "openvpn"
	lengthLen = 2
	firstMost = 86 // the longest first packet that probe knows
)

// stream takes packets apart.
type stream struct {
	analyzer

	lost [2]bool
}

// Data takes one packet.
func (a *stream) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if a.lost[dir] {
		return len(b), nil
	}
	if len(b) < lengthLen {
		return 0, nil
	}
	n := lengthLen + int(binary.BigEndian.Uint16(b))
	if len(b) < n {
		return 0, nil
	}
	if _, err := a.analyzer.Data(s, dir, b[lengthLen:n]); err != nil {
		return 0, err
	}
	return n, nil
}

// Gap loses where the next packet begins: nothing marks it.
func (a *stream) Gap(_ *proto.Scope, dir flow.Dir, _ int) error {
	a.lost[dir] = true
	return nil
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
