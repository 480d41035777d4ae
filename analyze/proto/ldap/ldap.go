// Package ldap reads the Lightweight Directory Access Protocol (RFC 4511): binds
// that are refused, other errors, and how long answers take.
package ldap

import (
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/ber"
	"netwhy/analyze/proto/internal/frames"
	"netwhy/analyze/proto/internal/gss"
)

// Codes of findings.
const (
	BindFailed finding.Code = "ldap.bind-failed"
	Error      finding.Code = "ldap.error"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	result := finding.Metric{Name: "result", Text: true, Doc: "name of the result code (RFC 4511, A)"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	return proto.Spec{
		Name: "ldap", Doc: "Lightweight Directory Access Protocol, RFC 4511",
		Also:    gss.Names(),
		Carrier: proto.TCP, Ports: []uint16{389, 3268},
		First: func(_ flow.Dir, c byte) bool { return c == ber.Sequence },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: BindFailed, Severity: finding.Notice,
				Doc:     "The server refused a bind, such as invalidCredentials (49) (RFC 4511, 4.2.2).",
				Metrics: []finding.Metric{result, {Name: "name", Text: true, Doc: "name that the client gave"}, text, {Name: "attempts", Merge: finding.Sum, Doc: "refused binds"}},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc:     "The server answered another operation with an error; busy, unavailable and timeLimitExceeded are among them.",
				Metrics: []finding.Metric{result, {Name: "operation", Text: true, Doc: "what was asked"}, text, {Name: "errors", Merge: finding.Sum, Doc: "such answers"}},
			},
		},
	}
}

// Tags of operations (RFC 4511, 4.2 to 4.12).
const (
	bindRequest, bindResponse     = 0x60, 0x61
	unbind                        = 0x42
	searchRequest, searchEntry    = 0x63, 0x64
	searchDone, searchReference   = 0x65, 0x73
	extendedRequest, extendedResp = 0x77, 0x78
	abandon                       = 0x50
	intermediate                  = 0x79
)

func operation(tag byte) string {
	switch tag {
	case bindRequest:
		return "bind"
	case searchRequest:
		return "search"
	case 0x66:
		return "modify"
	case 0x68:
		return "add"
	case 0x4a:
		return "delete"
	case 0x6c:
		return "rename"
	case 0x6e:
		return "compare"
	case extendedRequest:
		return "extended"
	}
	return ""
}

type message struct {
	id   uint64
	op   byte
	body []byte
}

func parse(b []byte) (m message, more, ok bool) {
	v, more, ok := ber.Head(b)
	if !ok || v.Tag != ber.Sequence {
		return m, more, false
	}
	if len(v.Body) < 8 && v.Len > len(v.Body) {
		return m, true, false
	}
	id, rest, ok := ber.Want(v.Body, ber.Integer)
	if !ok || len(id) > 4 || id[0] >= 0x80 {
		return m, false, false
	}
	op, more, ok := ber.Head(rest)
	if !ok {
		return m, more, false
	}
	m = message{id: ber.Uint(id), op: op.Tag, body: op.Body}
	switch op.Tag {
	case unbind, abandon, bindResponse, searchEntry, searchDone, searchReference, extendedResp, intermediate, 0x67, 0x69, 0x6b, 0x6d, 0x6f:
		return m, false, true
	}
	return m, false, operation(op.Tag) != ""
}

func probe(_ flow.Dir, b []byte) proto.Verdict {
	m, more, ok := parse(b)
	switch {
	case more:
		return proto.NeedMore
	case !ok:
		return proto.No
	case m.op == bindRequest: // version 2 or 3
		if v, _, ok := ber.Want(m.body, ber.Integer); ok && len(v) == 1 && (v[0] == 2 || v[0] == 3) {
			return proto.Certain
		}
		return proto.No
	case m.op == unbind || m.op == abandon:
		return proto.NeedMore
	}
	return proto.Likely
}

type analyzer struct {
	frames.Reader

	book ask.Book
	bind string // name of the bind at hand
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "ldap"}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		v, more, ok := ber.Head(b)
		switch {
		case more:
			return 0, nil
		case !ok || v.Tag != ber.Sequence:
			return 0, errMessage // also SASL wrapping, which hides the rest
		}
		return v.Size, nil
	}
	a.Message = a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return probe(dir, b) >= proto.Likely }
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errMessage fault = "no LDAP message where one begins"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	m, _, ok := parse(b)
	if !ok {
		return
	}
	if m.op == bindRequest || m.op == bindResponse {
		gss.Token(s, gss.Find(b), m.op == bindResponse)
	}
	if dir == flow.ToServer {
		op := operation(m.op)
		if op == "" {
			return
		}
		if m.op == bindRequest {
			_, rest, _ := ber.Want(m.body, ber.Integer)
			name, _, _ := ber.Want(rest, ber.OctetString)
			a.bind = ask.Clip(name)
		}
		a.book.Queue(s, m.id, op, total)
		return
	}
	if m.op == searchEntry || m.op == searchReference || m.op == intermediate {
		return
	}
	code, rest, ok := ber.Want(m.body, ber.Enumerated)
	if !ok {
		return
	}
	n := ber.Int(code)
	_, rest, _ = ber.Want(rest, ber.OctetString)
	words, _, _ := ber.Want(rest, ber.OctetString)
	// compareFalse, compareTrue, referral and saslBindInProgress are no errors.
	failed := n != 0 && n != 5 && n != 6 && n != 10 && n != 14
	r, _, _ := a.book.Answer(s, m.id, result(n), failed && n != 32, total)
	switch {
	case m.op == bindResponse && n != 14:
		s.Publish(&proto.Login{Protocol: "ldap", Client: s.Client().Addr(), Server: s.Server(), User: a.bind, OK: n == 0})
		if failed {
			s.Report(BindFailed, finding.Text(result(n)), finding.Text(a.bind), finding.Text(ask.Clip(words)), finding.Num(1))
		}
	case failed:
		s.Report(Error, finding.Text(result(n)), finding.Text(r.Label), finding.Text(ask.Clip(words)), finding.Num(1))
	case m.op == extendedResp && r.Label == "extended" && n == 0 && a.book.Open() == 0:
		s.Become() // StartTLS, or else the same protocol goes on and is recognised again
	}
}

func result(n int64) string {
	names := map[int64]string{
		0: "success", 1: "operationsError", 2: "protocolError", 3: "timeLimitExceeded", 4: "sizeLimitExceeded",
		5: "compareFalse", 6: "compareTrue", 7: "authMethodNotSupported", 8: "strongerAuthRequired", 10: "referral",
		11: "adminLimitExceeded", 12: "unavailableCriticalExtension", 13: "confidentialityRequired", 14: "saslBindInProgress",
		16: "noSuchAttribute", 19: "constraintViolation", 20: "attributeOrValueExists", 32: "noSuchObject", 34: "invalidDNSyntax",
		48: "inappropriateAuthentication", 49: "invalidCredentials", 50: "insufficientAccessRights", 51: "busy",
		52: "unavailable", 53: "unwillingToPerform", 54: "loopDetect", 65: "objectClassViolation", 68: "entryAlreadyExists", 80: "other",
	}
	if t := names[n]; t != "" {
		return t
	}
	return strconv.FormatInt(n, 10)
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
