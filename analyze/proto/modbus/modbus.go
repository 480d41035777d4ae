// Package modbus reads Modbus over TCP (Modbus Messaging on TCP/IP, V1.0b):
// exceptions and slow answers of controllers.
package modbus

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Exception is reported for an answer that says no.
const Exception finding.Code = "modbus.exception"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "mbtcp", Doc: "Modbus/TCP",
		Also:    []string{"modbus"},
		Carrier: proto.TCP, Ports: []uint16{502}, Weak: true,
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{{
			Code: Exception, Severity: finding.Notice,
			Doc: "A controller answered with an exception (Modbus Application Protocol, 7), such as an illegal address, or a gateway that cannot reach its device (10, 11).",
			Metrics: []finding.Metric{
				{Name: "exception", Doc: "code"},
				{Name: "meaning", Text: true, Doc: "its meaning"},
				{Name: "function", Doc: "function asked for"},
				{Name: "unit", Doc: "unit asked"},
				{Name: "exceptions", Merge: finding.Sum, Doc: "such answers"},
			},
		}},
	}
}

const (
	headLen = 8
	failure = 0x80
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headLen {
		return proto.NeedMore
	}
	if n := binary.BigEndian.Uint16(b[4:]); binary.BigEndian.Uint16(b[2:]) != 0 || n < 2 || n > 254 {
		return proto.No
	}
	return proto.Certain
}

type analyzer struct {
	frames.Reader

	book ask.Book
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "modbus"}}
	a.Length = func(dir flow.Dir, b []byte) (int, error) {
		switch probe(dir, b) {
		case proto.NeedMore:
			return 0, nil
		case proto.No:
			return 0, errMessage
		case proto.Likely, proto.Certain:
		}
		return 6 + int(binary.BigEndian.Uint16(b[4:])), nil
	}
	a.Message = a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return probe(dir, b) == proto.Certain }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errMessage fault = "no Modbus message where one begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	s.Carries("modbus")
	id := uint64(binary.BigEndian.Uint16(b))<<8 | uint64(b[6])
	function := b[7]
	if dir == flow.ToServer {
		a.book.Queue(s, id, "function "+strconv.Itoa(int(function)), total)
		return
	}
	code := "ok"
	if function&failure != 0 && len(b) > headLen {
		code = meaning(b[8])
		s.Report(Exception, finding.Num(b[8]), finding.Text(code), finding.Num(function&^failure), finding.Num(b[6]), finding.Num(1))
	}
	a.book.Answer(s, id, code, function&failure != 0, total)
}

func meaning(code byte) string {
	names := [...]string{
		1: "illegal function", 2: "illegal data address", 3: "illegal data value", 4: "device failure", 5: "acknowledge",
		6: "device busy", 7: "negative acknowledge", 8: "memory parity error", 10: "gateway path unavailable", 11: "gateway target did not answer",
	}
	if int(code) < len(names) && names[code] != "" {
		return names[code]
	}
	return strconv.Itoa(int(code))
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
