// Package tftp reads the Trivial File Transfer Protocol (RFC 1350): errors, and
// requests without answer. Data come from a port of the server's choice, in
// another conversation.
package tftp

import (
	"bytes"
	"encoding/binary"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Error is reported for an error message.
const Error finding.Code = "tftp.error"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "tftp", Doc: "Trivial File Transfer Protocol, RFC 1350",
		Carrier: proto.UDP, Ports: []uint16{69},
		Probe: probe,
		New:   func() proto.Analyzer { return analyzer{} },
		Codes: []finding.Def{{
			Code: Error, Severity: finding.Notice,
			Doc: "One end ended a transfer with an error (RFC 1350, 5), such as file not found or access violation.",
			Metrics: []finding.Metric{
				{Name: "code", Doc: "number"},
				{Name: "text", Text: true, Doc: "its words"},
				{Name: "errors", Merge: finding.Sum, Doc: "errors"},
			},
		}},
	}
}

// Operations.
const (
	read, write, data, failure = 1, 2, 3, 5
)

// probe is sure of requests: a name and a known mode. Blocks and
// acknowledgements of the data's conversation are plausible at best: the first
// block, full or short, or an error with a text.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < 4 || b[0] != 0 {
		return proto.No
	}
	op, n := b[1], binary.BigEndian.Uint16(b[2:])
	switch {
	case op == read || op == write:
		_, rest, ok := bytes.Cut(b[2:], []byte{0})
		mode, _, ok2 := bytes.Cut(rest, []byte{0})
		if m := strings.ToLower(string(mode[:min(len(mode), 16)])); ok && ok2 && (m == "octet" || m == "netascii" || m == "mail") {
			return proto.Certain
		}
	case op == data && n == 1 && len(b) == 4+512:
		return proto.Likely
	case op == failure && n <= 8 && len(b) > 5 && len(b) < 256 && b[len(b)-1] == 0 && printable(b[4:len(b)-1]):
		return proto.Certain
	}
	return proto.No
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

type analyzer struct{}

// Data takes one message.
func (analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if len(b) < 4 || s.Duplicate() {
		return len(b), nil
	}
	switch binary.BigEndian.Uint16(b) {
	case read, write:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		s.Attr("tftp.file", ask.Clip(name))
	case data:
		if len(b) > 4 {
			s.Carries("data")
		}
	case failure:
		words, _, _ := bytes.Cut(b[4:], []byte{0})
		const optionRefused = 8 // the client may stop so after it has the size (RFC 2347)
		if code := binary.BigEndian.Uint16(b[2:]); code != optionRefused {
			s.Report(Error, finding.Num(code), finding.Text(ask.Clip(words)), finding.Num(1))
		}
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (analyzer) End(*proto.Scope, proto.End) {}
