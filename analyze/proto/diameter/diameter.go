// Package diameter reads Diameter over TCP (RFC 6733): requests that a peer cannot
// deliver, users and sessions that it rejects, and how long answers take.
package diameter

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Error    finding.Code = "diameter.error"
	NoAnswer finding.Code = "diameter.no-answer"
)

const name = "diameter"

// Spec declares the analyzer.
func Spec() proto.Spec {
	request := finding.Metric{Name: "request", Text: true, Doc: "what was asked"}
	return proto.Spec{
		Name: name, Doc: "Diameter, RFC 6733",
		Carrier: proto.TCP, Ports: []uint16{3868},
		First:  func(_ flow.Dir, c byte) bool { return c == 1 },
		Probe:  probe,
		New:    newAnalyzer,
		Counts: true,
		Codes: []finding.Def{
			{
				Code: Error, Severity: finding.Notice,
				Doc: "An answer has a result other than success (RFC 6733, 7.1): 3xxx an error of the protocol or of routing, 4xxx a failure for now, 5xxx one for good. Results of a vendor (7.6) are read alike. access says that user or session are refused, routing that no peer has the realm or host.",
				Metrics: []finding.Metric{
					request,
					{Name: "result", Doc: "result code"},
					{Name: "name", Text: true, Doc: "its name"},
					{Name: "text", Text: true, Doc: "words of the one who answers"},
					{Name: "origin", Text: true, Doc: "host that gave the answer"},
					{Name: "realm", Text: true, Doc: "realm that was asked for; empty: none was named"},
					{Name: "errors", Merge: finding.Sum, Doc: "such answers"},
					{Name: "answers", Merge: finding.Max, Doc: "all answers of the conversation so far"},
					{Name: "access", Merge: finding.Max, Doc: "1 when user or session are refused"},
					{Name: "routing", Merge: finding.Max, Doc: "1 when no peer has it"},
				},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc:     "A request has no answer after ten seconds or more; peers ask whether the other is alive after thirty (RFC 3539, 3.4.1: at least six).",
				Metrics: []finding.Metric{request, {Name: "requests", Merge: finding.Sum, Doc: "requests without answer"}, {Name: "answers", Merge: finding.Max, Doc: "answers that did come"}},
			},
		},
	}
}

const (
	headLen  = 20
	longest  = 1 << 20
	patience = 10_000_000_000
	// Flags of a command (RFC 6733, 3).
	isRequest = 0x80
	reserved  = 0x0f
)

// head is that of a message (RFC 6733, 3).
type head struct {
	flags   byte
	command uint32
	hop     uint32
	len     int
}

func parse(b []byte) (h head, ok bool) {
	if len(b) < headLen {
		return h, false
	}
	h = head{flags: b[4], command: number24(b[5:]), hop: binary.BigEndian.Uint32(b[12:]), len: int(number24(b[1:]))}
	return h, b[0] == 1 && h.len >= headLen && h.len%4 == 0 && h.len <= longest && h.flags&reserved == 0
}

func number24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// probe wants a header with a first attribute that names a session, a host or a
// result, as every message has.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headLen+8 {
		if len(b) > 1 && (b[0] != 1 || b[1] != 0) {
			return proto.No
		}
		return proto.NeedMore
	}
	h, ok := parse(b)
	if !ok || h.len > 1<<16 {
		return proto.No
	}
	switch binary.BigEndian.Uint32(b[headLen:]) {
	case sessionID, originHost, resultCode:
		if n := number24(b[headLen+5:]); n >= 8 && int(n) <= h.len-headLen {
			return proto.Certain
		}
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	book    ask.Book
	realms  map[uint32]string // asked for, by hop-by-hop identifier and so for a while only
	answers uint64
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: name}, realms: map[uint32]string{}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < headLen {
			return 0, nil
		}
		h, ok := parse(b)
		if !ok {
			return 0, errHead
		}
		return h.len, nil
	}
	a.Message = a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return probe(dir, b) == proto.Certain }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errHead fault = "no Diameter message where one begins"

// message takes one. Both ends ask; exchanges are those of the client's requests.
func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	h, ok := parse(b)
	if !ok {
		return
	}
	s.Carries(name)
	said := attributes(b[headLen:])
	if h.flags&isRequest != 0 {
		const most = 256
		if len(a.realms) >= most {
			clear(a.realms)
		}
		if said.realm != nil {
			a.realms[h.hop] = ask.Clip(said.realm)
		}
		if dir == flow.ToServer {
			a.book.Queue(s, uint64(h.hop), command(h.command), total)
		}
		return
	}
	a.answers++
	realm := a.realms[h.hop]
	delete(a.realms, h.hop)
	const multiRound, success, failure, redirect = 1001, 2000, 3000, 3006
	failed := said.result >= failure && said.result != redirect || said.result < success && said.result != multiRound && said.result != 0
	if dir == flow.ToClient {
		a.book.Answer(s, uint64(h.hop), strconv.Itoa(int(said.result)), failed, total)
	}
	if !failed {
		return
	}
	what, access, routing := said.meaning()
	s.Report(Error, finding.Text(command(h.command)), finding.Num(said.result), finding.Text(what), finding.Text(ask.Clip(said.text)),
		finding.Text(ask.Clip(said.origin)), finding.Text(realm), finding.Num(1), finding.Num(a.answers), finding.Num(access), finding.Num(routing))
}

// command names a request (RFC 6733, 3.1; RFC 8506; 3GPP TS 29.229, 29.272).
func command(code uint32) string {
	switch code {
	case 257:
		return "Capabilities-Exchange"
	case 258:
		return "Re-Auth"
	case 265:
		return "AA"
	case 268:
		return "EAP"
	case 271:
		return "Accounting"
	case 272:
		return "Credit-Control"
	case 274:
		return "Abort-Session"
	case 275:
		return "Session-Termination"
	case 280:
		return "Device-Watchdog"
	case 282:
		return "Disconnect-Peer"
	case 300:
		return "User-Authorization"
	case 301:
		return "Server-Assignment"
	case 302:
		return "Location-Info"
	case 303:
		return "Multimedia-Auth"
	case 306:
		return "User-Data"
	case 316:
		return "Update-Location"
	case 317:
		return "Cancel-Location"
	case 318:
		return "Authentication-Information"
	case 319:
		return "Insert-Subscriber-Data"
	case 321:
		return "Purge-UE"
	case 323:
		return "Notify"
	}
	return "command " + strconv.Itoa(int(code))
}

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	a.book.GiveUp(s, patience, func(at *proto.Scope, r *ask.Request, _ int64) {
		at.Report(NoAnswer, finding.Text(r.Label), finding.Num(1), finding.Num(a.answers))
	})
}
