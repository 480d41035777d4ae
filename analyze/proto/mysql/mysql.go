// Package mysql reads the protocol of MySQL and MariaDB (MySQL Internals,
// "Client/Server Protocol"): failed logins, errors, and how long queries take.
package mysql

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

// Codes of findings.
const (
	AuthFailed  finding.Code = "mysql.auth-failed"
	Error       finding.Code = "mysql.error"
	Unavailable finding.Code = "mysql.unavailable"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	code := finding.Metric{Name: "error_code", Doc: "number of the error (MySQL Server Error Reference)"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	times := finding.Metric{Name: "errors", Merge: finding.Sum, Doc: "such errors"}
	return proto.Spec{
		Name: "mysql", Doc: "MySQL client/server protocol 10",
		Carrier: proto.TCP, Ports: []uint16{3306},
		Untold: [2]bool{flow.ToServer: true},
		Probe:  probe,
		New:    newAnalyzer,
		Codes: []finding.Def{
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc:     "The server did not accept the login: 1045 and 1698 (user or password), 1044 and 1049 (database), 1130 (host), 2061 and 1251 (way of authentication).",
				Metrics: []finding.Metric{code, text, {Name: "user", Text: true, Doc: "as the client gave it"}, times},
			},
			{
				Code: Unavailable, Severity: finding.Notice,
				Doc:     "The server cannot serve: 1040 and 1203 (too many connections), 1129 (host blocked after errors), 1053 (shutting down), 1021 and 1041 (disk or memory full).",
				Metrics: []finding.Metric{code, text, times},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc:     "The server answered a command with another error, such as bad syntax (1064), no such table (1146), a lock time-out (1205) or a deadlock (1213).",
				Metrics: []finding.Metric{code, text, {Name: "query", Text: true, Doc: "beginning of the query"}, times},
			},
		},
	}
}

const (
	headLen    = 4
	protocol10 = 10
	packetOK   = 0x00
	packetErr  = 0xff
	capSSL     = 1 << 11
	cap41      = 1 << 9
)

// probe wants the server's greeting: protocol 10 and a version that is a text.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToServer {
		return proto.NeedMore // the server speaks first
	}
	if len(b) < headLen+3 {
		return proto.NeedMore
	}
	n := size(b)
	if b[3] != 0 || n < 8 || n > 1024 {
		return proto.No
	}
	p := b[headLen:]
	if p[0] == packetErr {
		if code := binary.LittleEndian.Uint16(p[1:]); code >= 1000 && code < 2100 && len(b) == headLen+n {
			return proto.Likely
		}
		return proto.No
	}
	if p[0] != protocol10 || p[1] < '0' || p[1] > '9' {
		return proto.No
	}
	const longestVersion = 100
	end := bytes.IndexByte(p[:min(len(p), longestVersion)], 0)
	if end < 4 || bytes.IndexByte(p[:end], '.') < 0 {
		return proto.No
	}
	return proto.Certain
}

func size(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

type phase uint8

const (
	greeting phase = iota
	login
	commands
)

type analyzer struct {
	frames.Reader

	phase phase
	user  string
	book  ask.Book
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "mysql"}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < headLen {
			return 0, nil
		}
		return headLen + size(b), nil
	}
	a.Message = a.message
	return a
}

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	seq, p := b[3], b[headLen:]
	if len(p) == 0 {
		return
	}
	if dir == flow.ToServer {
		a.client(s, seq, p, total)
		return
	}
	switch {
	case a.phase == greeting && p[0] == protocol10:
		v, _, _ := bytes.Cut(p[1:], []byte{0})
		s.Attr("mysql.server", ask.Clip(v))
		a.phase = login
	case p[0] == packetErr:
		a.fails(s, p, total)
	case a.phase == login && p[0] == packetOK:
		a.phase = commands
		a.book.Answer(s, 0, "OK", false, total)
		s.Publish(&proto.Login{Protocol: "mysql", Client: s.Client().Addr(), Server: s.Server(), User: a.user, OK: true})
	case a.phase == commands && seq == 1:
		a.book.Answer(s, 0, "OK", false, total)
	}
}

func (a *analyzer) client(s *proto.Scope, seq byte, p []byte, total int) {
	switch {
	case a.phase == login && seq == 1 && len(p) >= 4:
		caps := binary.LittleEndian.Uint32(p)
		if caps&capSSL != 0 && len(p) == 32 {
			s.Attr("mysql.encrypted", "1")
			s.Become()
			return
		}
		if caps&cap41 != 0 && len(p) > 32 {
			user, _, _ := bytes.Cut(p[32:], []byte{0})
			a.user = ask.Clip(user)
			s.Attr("mysql.user", a.user)
		}
		a.book.Queue(s, 0, "login", total)
	case a.phase == commands && seq == 0:
		a.command(s, p, total)
	}
}

// Commands with and without an answer.
const (
	comQuit, comInitDB, comQuery, comPing = 1, 2, 3, 14
	comPrepare, comExecute                = 22, 23
	comLongData, comClose                 = 24, 25
)

func (a *analyzer) command(s *proto.Scope, p []byte, total int) {
	var label string
	switch p[0] {
	case comQuit, comLongData, comClose:
		return
	case comQuery, comPrepare:
		label = ask.Clip(p[1:])
	case comInitDB:
		label = "USE " + ask.Clip(p[1:])
	case comPing:
		label = "PING"
	case comExecute:
		label = "EXECUTE"
	default:
		label = "command " + strconv.Itoa(int(p[0]))
	}
	a.book.Queue(s, 0, label, total)
}

func (a *analyzer) fails(s *proto.Scope, p []byte, total int) {
	if len(p) < 3 {
		return
	}
	number := binary.LittleEndian.Uint16(p[1:])
	words := p[3:]
	if len(words) > 6 && words[0] == '#' { // SQLSTATE
		words = words[6:]
	}
	query := ""
	if r := a.book.Oldest(); r != nil {
		query = r.Label
	}
	code, text, one := finding.Num(number), finding.Text(ask.Clip(words)), finding.Num(1)
	a.book.Answer(s, 0, strconv.Itoa(int(number)), true, total)
	switch number {
	case 1021, 1040, 1041, 1053, 1129, 1203:
		s.Report(Unavailable, code, text, one)
		return
	}
	if a.phase != commands {
		s.Report(AuthFailed, code, text, finding.Text(a.user), one)
		s.Publish(&proto.Login{Protocol: "mysql", Client: s.Client().Addr(), Server: s.Server(), User: a.user})
		return
	}
	s.Report(Error, code, text, finding.Text(query), one)
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
