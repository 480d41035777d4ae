// Package radius reads the Remote Authentication Dial-In User Service (RFC 2865,
// RFC 2866): logins that are rejected, servers that do not answer.
package radius

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of findings.
const (
	Reject   finding.Code = "radius.reject"
	NoAnswer finding.Code = "radius.no-answer"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	user := finding.Metric{Name: "user", Text: true, Doc: "name in the request"}
	return proto.Spec{
		Name: "radius", Doc: "Remote Authentication Dial-In User Service, RFC 2865",
		Also:    []string{"eap"},
		Carrier: proto.UDP, Ports: []uint16{1812, 1813, 1645, 1646, 3799}, Weak: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "radius"}, users: map[byte]string{}} },
		Codes: []finding.Def{
			{
				Code: Reject, Severity: finding.Notice,
				Doc: "The server rejected a login (RFC 2865, 4.3): wrong password, unknown user, or a policy.",
				Metrics: []finding.Metric{
					user,
					{Name: "message", Text: true, Doc: "the server's words"},
					{Name: "rejects", Merge: finding.Sum, Doc: "rejected logins"},
				},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc:     "Requests have no answer: the server is down, does not know this client, or the shared secret differs (RFC 2865, 3: it discards silently).",
				Metrics: []finding.Metric{user, {Name: "requests", Merge: finding.Sum, Doc: "requests without answer"}},
			},
		},
	}
}

const (
	headLen                            = 20
	request, accept, reject            = 1, 2, 3
	acctRequest, acctResponse          = 4, 5
	challenge                          = 11
	attrUser, attrReply, attrEAP       = 1, 18, 79
	patience                     int64 = 5_000_000_000
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headLen || b[0] == 0 || b[0] > 50 {
		return proto.No
	}
	if n := int(binary.BigEndian.Uint16(b[2:])); n < headLen || n > len(b) || n > 4096 {
		return proto.No
	}
	return proto.Likely
}

type analyzer struct {
	book  ask.Book
	users map[byte]string
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if len(b) < headLen {
		s.Malformed("RADIUS message shorter than its head")
		return len(b), nil
	}
	user, words, eap := attributes(b[headLen:min(len(b), max(headLen, int(binary.BigEndian.Uint16(b[2:]))))])
	if eap {
		s.Carries("eap")
	}
	if s.Duplicate() {
		return len(b), nil
	}
	id := uint64(b[1])
	switch b[0] {
	case request, acctRequest:
		if user != "" {
			a.users[b[1]] = user
		}
		label := "access"
		if b[0] == acctRequest {
			label = "accounting"
		}
		a.book.Ask(s, id, label, len(b))
	case accept, challenge, acctResponse:
		a.book.Answer(s, id, strconv.Itoa(int(b[0])), false, len(b))
		if b[0] == accept {
			a.login(s, b[1], true)
		}
	case reject:
		a.book.Answer(s, id, "reject", true, len(b))
		s.Report(Reject, finding.Text(a.users[b[1]]), finding.Text(words), finding.Num(1))
		a.login(s, b[1], false)
	}
	return len(b), nil
}

func (a *analyzer) login(s *proto.Scope, id byte, ok bool) {
	s.Publish(&proto.Login{Protocol: "radius", Client: s.Client().Addr(), Server: s.Server(), User: a.users[id], OK: ok})
}

func attributes(b []byte) (user, words string, eap bool) {
	for len(b) >= 2 && b[1] >= 2 && int(b[1]) <= len(b) {
		v := b[2:b[1]]
		switch b[0] {
		case attrUser:
			user = ask.Clip(v)
		case attrReply:
			words = ask.Clip(v)
		case attrEAP:
			eap = true
		}
		b = b[b[1]:]
	}
	return user, words, eap
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	a.book.GiveUp(s, patience, func(at *proto.Scope, r *ask.Request, _ int64) {
		at.Report(NoAnswer, finding.Text(a.users[byte(r.ID&0xff)]), finding.Num(1))
	})
}
