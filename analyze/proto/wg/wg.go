// Package wg reads the handshake of WireGuard (wireguard.com/protocol): initiations
// without response.
package wg

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// NoAnswer is reported for handshakes that nobody answers.
const NoAnswer finding.Code = "wg.no-answer"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "wg", Doc: "WireGuard",
		Carrier: proto.UDP, Ports: []uint16{51820}, Anywhere: true,
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < 4 || b[1] != 0 || b[2] != 0 || b[3] != 0 {
				return proto.No
			}
			switch {
			case b[0] == initiation && len(b) == 148, b[0] == response && len(b) == 92, b[0] == cookie && len(b) == 64:
				return proto.Certain
			case b[0] == data && len(b) >= 32 && len(b)%16 == 0:
				return proto.Likely
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "wg"}} },
		Codes: []finding.Def{{
			Code: NoAnswer, Severity: finding.Notice,
			Doc: "Handshake initiations have no response, twice or more: the peer is down, does not know the key (it stays silent then), or a firewall drops the datagrams. Initiations are repeated each 5 s.",
			Metrics: []finding.Metric{
				{Name: "initiations", Merge: finding.Max, Doc: "without response"},
				{Name: "answered", Merge: finding.Max, Doc: "with a response"},
				{Name: "waited_seconds", Merge: finding.Max, Doc: "from the first to the end of the conversation"},
			},
		}},
	}
}

const (
	initiation, response, cookie, data = 1, 2, 3, 4
)

type analyzer struct {
	book     ask.Book
	answered uint64
	waiting  uint64
	first    int64
	last     int64
	frame    uint64
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if len(b) < 12 || s.Duplicate() {
		return len(b), nil
	}
	switch b[0] {
	case initiation:
		if a.waiting++; a.waiting == 1 {
			a.first = s.Now()
		}
		a.last, a.frame = s.Now(), s.Frame()
		a.book.Queue(s, uint64(binary.LittleEndian.Uint32(b[4:])), "handshake", len(b))
	case response:
		a.waiting = 0
		a.answered++
		a.book.Answer(s, uint64(binary.LittleEndian.Uint32(b[8:])), "ok", false, len(b))
	case cookie, data:
		a.waiting = 0
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	const repeated = 2
	if a.waiting >= repeated {
		at := *s
		at.FrameNo, at.At = a.frame, a.last
		at.Report(NoAnswer, finding.Num(a.waiting), finding.Num(a.answered), finding.Num(float64(max(s.Now(), a.last)-a.first)/1e9))
	}
}
