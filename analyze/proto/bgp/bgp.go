// Package bgp reads the Border Gateway Protocol (RFC 4271): notifications, which
// end a session and say why.
package bgp

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Notification finding.Code = "bgp.notification"
	Withdrawn    finding.Code = "bgp.withdrawn"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "bgp", Doc: "Border Gateway Protocol 4, RFC 4271",
		Carrier: proto.TCP, Ports: []uint16{179},
		First: func(_ flow.Dir, c byte) bool { return c == 0xff },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Notification, Severity: finding.Notice,
				Doc: "One end closed the session with a notification (RFC 4271, 4.5; RFC 4486). The sender complains about what the other did, or tells that it ends the session itself (cease).",
				Metrics: []finding.Metric{
					{Name: "code", Doc: "error code"},
					{Name: "subcode", Doc: "error subcode"},
					{Name: "reason", Text: true, Doc: "their meaning"},
					{Name: "sender", Text: true, Doc: "who sent it"},
					{Name: "sender_as", Doc: "its autonomous system as of its OPEN; 0: not seen"},
					{Name: "peer_as", Doc: "that of the other end"},
					{Name: "message", Text: true, Doc: "text of the operator (RFC 9003)"},
					{Name: "times", Merge: finding.Sum, Doc: "notifications"},
				},
			},
			{
				Code: Withdrawn, Severity: finding.Info,
				Doc: "Routes were withdrawn (RFC 4271, 4.3).",
				Metrics: []finding.Metric{
					{Name: "updates", Merge: finding.Sum, Doc: "messages that withdraw routes"},
				},
			},
		},
	}
}

const (
	headLen = 19

	open, update, notification, keepalive = 1, 2, 3, 4
	refresh                               = 5
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	for i := range min(len(b), 16) {
		if b[i] != 0xff {
			return proto.No
		}
	}
	if len(b) < headLen {
		return proto.NeedMore
	}
	if n := binary.BigEndian.Uint16(b[16:]); n < headLen || b[18] < open || b[18] > refresh {
		return proto.No
	}
	return proto.Certain
}

type analyzer struct {
	frames.Reader

	as [2]uint32
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{}
	a.Length = func(dir flow.Dir, b []byte) (int, error) {
		switch probe(dir, b) {
		case proto.NeedMore:
			return 0, nil
		case proto.No:
			return 0, errMarker
		case proto.Likely, proto.Certain:
		}
		return int(binary.BigEndian.Uint16(b[16:])), nil
	}
	a.Message = a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return probe(dir, b) == proto.Certain }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errMarker fault = "no BGP marker where a message begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, _ int) {
	p := b[headLen:]
	switch b[18] {
	case open:
		if len(p) >= 10 {
			a.as[dir] = as(p)
			s.Attr("bgp.as."+[2]string{"client", "server"}[dir], strconv.FormatUint(uint64(a.as[dir]), 10))
			s.Attr("bgp.hold_seconds", strconv.Itoa(int(binary.BigEndian.Uint16(p[3:]))))
		}
	case update:
		if len(p) >= 2 && binary.BigEndian.Uint16(p) > 0 {
			s.Report(Withdrawn, finding.Num(1))
		}
	case notification:
		if len(p) < 2 {
			return
		}
		sender := s.Client().Addr()
		if dir == flow.ToClient {
			sender = s.Server().Addr()
		}
		s.Report(Notification, finding.Num(p[0]), finding.Num(p[1]), finding.Text(reason(p[0], p[1])), finding.Text(sender.String()),
			finding.Num(a.as[dir]), finding.Num(a.as[dir.Reverse()]), finding.Text(words(p)), finding.Num(1))
	}
}

// as is the AS number of an OPEN: four bytes where the capability is there (RFC
// 6793, 3).
func as(p []byte) uint32 {
	const capabilities, fourBytes = 2, 65
	two := uint32(binary.BigEndian.Uint16(p[1:]))
	for o := p[10:]; len(o) >= 2 && len(o) >= 2+int(o[1]); o = o[2+int(o[1]):] {
		if o[0] != capabilities {
			continue
		}
		for c := o[2 : 2+int(o[1])]; len(c) >= 2 && len(c) >= 2+int(c[1]); c = c[2+int(c[1]):] {
			if c[0] == fourBytes && c[1] == 4 {
				return binary.BigEndian.Uint32(c[2:])
			}
		}
	}
	return two
}

// words is the operator's text of a cease (RFC 9003, 2).
func words(p []byte) string {
	const cease, shutdown, reset = 6, 2, 4
	if p[0] != cease || p[1] != shutdown && p[1] != reset || len(p) < 3 || len(p) < 3+int(p[2]) {
		return ""
	}
	if t := p[3 : 3+int(p[2])]; utf8.Valid(t) {
		return string(t)
	}
	return ""
}

// reason names codes and subcodes (RFC 4271, 6; RFC 4486; RFC 6608; RFC 8538).
func reason(code, sub byte) string {
	names := [][]string{
		1: {"message header error", "connection not synchronized", "bad message length", "bad message type"},
		2: {"OPEN message error", "unsupported version", "bad peer AS", "bad BGP identifier", "unsupported optional parameter", "authentication failure", "unacceptable hold time", "unsupported capability"},
		3: {"UPDATE message error", "malformed attribute list", "unrecognized well-known attribute", "missing well-known attribute", "attribute flags error", "attribute length error", "invalid ORIGIN", "AS routing loop", "invalid NEXT_HOP", "optional attribute error", "invalid network field", "malformed AS_PATH"},
		4: {"hold timer expired"},
		5: {"finite state machine error"},
		6: {"cease", "maximum number of prefixes reached", "administrative shutdown", "peer de-configured", "administrative reset", "connection rejected", "other configuration change", "connection collision resolution", "out of resources", "hard reset", "BFD down"},
		7: {"ROUTE-REFRESH message error", "invalid message length"},
	}
	if int(code) >= len(names) || len(names[code]) == 0 {
		return "other"
	}
	if n := names[code]; int(sub) < len(n) {
		return n[sub]
	}
	return names[code][0]
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
