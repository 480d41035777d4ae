// Package rdp reads the opening of the Remote Desktop Protocol (MS-RDPBCGR):
// negotiations that fail. What follows is TLS, and recognised by itself.
package rdp

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Refused is reported for a negotiation that failed.
const Refused finding.Code = "rdp.refused"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "rdp", Doc: "Remote Desktop Protocol, MS-RDPBCGR",
		Also:    []string{"tpkt", "cotp"},
		Carrier: proto.TCP, Ports: []uint16{3389},
		Untold: [2]bool{flow.ToClient: true},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToClient || c == 3 },
		Probe: func(dir flow.Dir, b []byte) proto.Verdict {
			const connectRequest = 0xe0
			switch {
			case dir == flow.ToClient:
				return proto.NeedMore
			case len(b) < headLen:
				if len(b) > 0 && b[0] != 3 {
					return proto.No
				}
				return proto.NeedMore
			case b[0] != 3 || b[1] != 0 || b[5] != connectRequest || int(binary.BigEndian.Uint16(b[2:])) != len(b) || int(b[4]) != len(b)-5:
				return proto.No
			case bytes.HasPrefix(b[headLen:], []byte("Cookie: mstshash=")):
				return proto.Certain
			case len(b) >= 19 && b[len(b)-8] == 1 && b[len(b)-6] == 8: // negotiation request
				return proto.Certain
			}
			return proto.No // Siemens S7 and others begin so too
		},
		New: newAnalyzer,
		Codes: []finding.Def{{
			Code: Refused, Severity: finding.Notice,
			Doc: "The server refused the ways to secure the session that the client offers (MS-RDPBCGR, 2.2.1.2.2).",
			Metrics: []finding.Metric{
				{Name: "code", Doc: "failure code"},
				{Name: "reason", Text: true, Doc: "its meaning"},
			},
		}},
	}
}

const headLen = 11

type analyzer struct {
	frames.Reader

	book ask.Book
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "rdp"}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 4 {
			return 0, nil
		}
		n := int(binary.BigEndian.Uint16(b[2:]))
		if b[0] != 3 || n < 7 {
			return 0, frames.ErrGap
		}
		return n, nil
	}
	a.Message = a.message
	return a
}

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	s.Carries("tpkt")
	s.Carries("cotp")
	const confirm, negotiated, failed = 0xd0, 2, 3
	if dir == flow.ToServer {
		a.book.Queue(s, 0, "connect", total)
		if _, rest, ok := bytes.Cut(b, []byte("mstshash=")); ok {
			name, _, _ := bytes.Cut(rest, []byte{'\r'})
			s.Attr("rdp.user", ask.Clip(name))
		}
		return
	}
	if len(b) < headLen || b[5] != confirm {
		return
	}
	if len(b) < headLen+8 {
		a.book.Answer(s, 0, "standard security", false, total)
		return
	}
	v := binary.LittleEndian.Uint32(b[headLen+4:])
	switch b[headLen] {
	case negotiated:
		a.book.Answer(s, 0, "ok", false, total)
		if v != 0 {
			s.Become()
		}
	case failed:
		a.book.Answer(s, 0, reason(v), true, total)
		s.Report(Refused, finding.Num(v), finding.Text(reason(v)))
	}
}

func reason(code uint32) string {
	names := [...]string{
		1: "TLS required by server", 2: "TLS not allowed by server", 3: "no certificate on server", 4: "inconsistent flags",
		5: "network level authentication required by server", 6: "TLS with user authentication required",
	}
	if int(code) < len(names) && code > 0 {
		return names[code]
	}
	return strconv.FormatUint(uint64(code), 10)
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
