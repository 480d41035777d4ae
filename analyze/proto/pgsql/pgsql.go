// Package pgsql reads PostgreSQL's protocol, version 3 (PostgreSQL documentation,
// "Frontend/Backend Protocol"): failed logins, errors with their SQLSTATE, and how
// long queries take.
package pgsql

import (
	"bytes"
	"encoding/binary"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	AuthFailed  finding.Code = "pgsql.auth-failed"
	Error       finding.Code = "pgsql.error"
	Unavailable finding.Code = "pgsql.unavailable"
	NoPassword  finding.Code = "pgsql.password-not-sent"
)

// name is the protocol as Wireshark and the report call it.
const name = "pgsql"

// Spec declares the analyzer.
func Spec() proto.Spec {
	state := finding.Metric{Name: "sqlstate", Text: true, Doc: "code of the error (documentation, appendix A)"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	times := finding.Metric{Name: "errors", Merge: finding.Sum, Doc: "such errors"}
	return proto.Spec{
		Name: name, Doc: "PostgreSQL frontend/backend protocol 3",
		Carrier: proto.TCP, Ports: []uint16{5432},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToServer && c == 0 || typed(dir, c) },
		Probe:  probe,
		New:    newAnalyzer,
		Counts: true,
		Codes: []finding.Def{
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc: "The server did not accept the login: SQLSTATE class 28 (wrong password, no entry in pg_hba.conf), or a database that does not exist (3D000).",
				Metrics: []finding.Metric{
					state, text,
					{Name: "user", Text: true, Doc: "as the client gave it"},
					{Name: "database", Text: true, Doc: "as the client gave it"},
					times,
				},
			},
			{
				Code: Unavailable, Severity: finding.Notice,
				Doc:     "The server cannot serve: SQLSTATE class 53 (too many connections, disk or memory full), 57P01 to 57P03 (shutting down, starting up) or 58 and XX (system and internal errors).",
				Metrics: []finding.Metric{state, text, times},
			},
			{
				Code: NoPassword, Severity: finding.Info,
				Doc: "The server asked for a password and the client left without sending one: it had none, or asks its user before it comes again.",
				Metrics: []finding.Metric{
					{Name: "user", Text: true, Doc: "as the client gave it"},
					{Name: "database", Text: true, Doc: "as the client gave it"},
				},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc:     "The server answered a query with another error, such as bad syntax, a constraint, a time-out (57014) or a deadlock (40P01).",
				Metrics: []finding.Metric{state, text, {Name: "query", Text: true, Doc: "beginning of the query"}, times},
			},
		},
	}
}

// Codes of the first packet, which has no type.
const (
	version3      = 3 << 16
	cancelRequest = 80877102
	sslRequest    = 80877103
	gssRequest    = 80877104
	longestStart  = 10000
	// longest is the largest message that is believed: the server's own bound
	// is 1 GiB.
	longest = 1 << 30
)

func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToServer && len(b) >= 8 {
		n, code := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
		switch {
		case code == version3 && n > 8 && n < longestStart && bytes.HasPrefix(b[8:], []byte("user\x00")):
			return proto.Certain
		case code == version3 && n > 8 && n < longestStart:
			return proto.Likely
		case (code == sslRequest || code == gssRequest) && n == 8, code == cancelRequest && n == 16:
			return proto.Certain
		}
	}
	if len(b) < 5 {
		return proto.NeedMore
	}
	return chain(dir, b)
}

// typed reports whether a message of a direction may be of a type.
func typed(dir flow.Dir, c byte) bool {
	types := "QPBEDSHCXpdcfF"
	if dir == flow.ToClient {
		types = "RKSZTDCEN12n3IAtsGHWd"
	}
	return strings.IndexByte(types, c) >= 0
}

// chain recognises messages in the middle of a session: at least two in a row
// that fit, to the last byte of what is there.
func chain(dir flow.Dir, b []byte) proto.Verdict {
	n := 0
	for len(b) >= 5 {
		size := binary.BigEndian.Uint32(b[1:])
		if !typed(dir, b[0]) || size < 4 || size > 1<<20 {
			return proto.No
		}
		n++
		if 1+int(size) > len(b) {
			return proto.No
		}
		b = b[1+size:]
	}
	if n >= 2 && len(b) == 0 {
		return proto.Likely
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	started  bool // the client's first packet was read
	asked    bool // for encryption: the server answers with one byte
	user, db string
	ready    bool // the login succeeded
	book     ask.Book
	query    string
	state    string // of the error of the query at hand
	asking   uint64 // frame of the server's question for a password that is not answered
	askedAt  int64
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "pgsql"}}
	a.Length, a.Message = a.length, a.message
	a.Sync = func(dir flow.Dir, b []byte) bool { return chain(dir, b) == proto.Likely }
	return a
}

func (a *analyzer) length(dir flow.Dir, b []byte) (int, error) {
	if dir == flow.ToClient && a.asked {
		return 1, nil
	}
	if dir == flow.ToServer && !a.started {
		if len(b) < 8 {
			return 0, nil
		}
		switch n := int(binary.BigEndian.Uint32(b)); binary.BigEndian.Uint32(b[4:]) {
		case version3, cancelRequest, sslRequest, gssRequest:
			if n < 8 || n > longestStart {
				return 0, errLength
			}
			return n, nil
		}
		a.started, a.ready = true, true // the capture begins in the middle
	}
	if len(b) < 5 {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n < 4 || n > longest {
		return 0, errLength
	}
	return 1 + int(n), nil
}

type fault string

func (f fault) Error() string { return string(f) }

const errLength fault = "length of a PostgreSQL message is impossible"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	switch {
	case dir == flow.ToClient && a.asked:
		a.asked = false // not counted: tshark takes the byte for none of the protocol
		if b[0] == 'S' || b[0] == 'G' {
			s.Attr("pgsql.encrypted", "1")
			s.Become()
		}
	case dir == flow.ToServer && !a.started:
		s.Carries(name)
		a.first(s, b)
	case dir == flow.ToServer:
		s.Carries(name)
		a.client(s, b, total)
	default:
		s.Carries(name)
		a.server(s, b, total)
	}
}

func (a *analyzer) first(s *proto.Scope, b []byte) {
	switch binary.BigEndian.Uint32(b[4:]) {
	case sslRequest, gssRequest:
		a.asked = true
	case version3:
		a.started = true
		a.book.Queue(s, 0, "login", len(b))
		for rest := b[8:]; len(rest) > 1; {
			var k, v []byte
			k, rest, _ = bytes.Cut(rest, []byte{0})
			v, rest, _ = bytes.Cut(rest, []byte{0})
			switch string(k) {
			case "user":
				a.user = ask.Clip(v)
			case "database":
				a.db = ask.Clip(v)
			}
		}
		s.Attr("pgsql.user", a.user)
		s.Attr("pgsql.database", a.db)
	case cancelRequest:
		a.started = true
	}
}

func (a *analyzer) client(s *proto.Scope, b []byte, total int) {
	switch b[0] {
	case 'p':
		a.asking = 0
	case 'Q':
		a.ask(s, text(b[5:]), total)
	case 'P': // name, then the query
		_, q, _ := bytes.Cut(b[5:], []byte{0})
		a.query = text(q)
	case 'S': // ends a series of the extended protocol
		a.ask(s, a.query, total)
	case 'F':
		a.ask(s, "function call", total)
	}
}

func (a *analyzer) ask(s *proto.Scope, query string, n int) {
	if query == "" {
		query = "execute"
	}
	a.query = query
	a.book.Queue(s, 0, query, n)
}

func text(b []byte) string {
	t, _, _ := bytes.Cut(b, []byte{0})
	return ask.Clip(t)
}

func (a *analyzer) server(s *proto.Scope, b []byte, total int) {
	switch b[0] {
	case 'Z': // ready for the next query
		if !a.ready {
			a.ready, a.asking = true, 0
			s.Publish(&proto.Login{Protocol: "pgsql", Client: s.Client().Addr(), Server: s.Server(), User: a.user, OK: true})
		}
		code := "ok"
		if a.state != "" {
			code = a.state
		}
		a.book.Answer(s, 0, code, a.state != "", total)
		a.state = ""
	case 'R':
		if len(b) >= 9 && binary.BigEndian.Uint32(b[5:]) != 0 && !a.ready {
			a.asking, a.askedAt = s.Frame(), s.Now()
		}
	case 'E':
		a.asking = 0
		a.fails(s, b[5:], total)
	}
}

// fails reads an ErrorResponse: fields of one byte and a text.
func (a *analyzer) fails(s *proto.Scope, b []byte, total int) {
	state, message := "", ""
	for len(b) > 1 && b[0] != 0 {
		kind := b[0]
		var v []byte
		v, b, _ = bytes.Cut(b[1:], []byte{0})
		switch kind {
		case 'C':
			state = ask.Clip(v)
		case 'M':
			message = ask.Clip(v)
		}
	}
	a.state = state
	code, words, one := finding.Text(state), finding.Text(message), finding.Num(1)
	class := state[:min(2, len(state))]
	switch {
	case class == "53", class == "58", class == "XX", state == "57P01", state == "57P02", state == "57P03":
		s.Report(Unavailable, code, words, one)
	case !a.ready:
		s.Report(AuthFailed, code, words, finding.Text(a.user), finding.Text(a.db), one)
		if class == "28" {
			s.Publish(&proto.Login{Protocol: "pgsql", Client: s.Client().Addr(), Server: s.Server(), User: a.user})
		}
	default:
		query := ""
		if r := a.book.Oldest(); r != nil {
			query = r.Label
		}
		s.Report(Error, code, words, finding.Text(query), one)
	}
	if !a.ready {
		a.book.Answer(s, 0, state, true, total)
		a.state = ""
	}
}

// End tells whether the client went away when it was asked for a password.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	if a.asking != 0 && !a.ready {
		at := *s
		at.FrameNo, at.At = a.asking, a.askedAt
		at.Report(NoPassword, finding.Text(a.user), finding.Text(a.db))
	}
}
