// Package mongo reads the wire protocol of MongoDB (OP_MSG and OP_QUERY): errors
// of the server, failed logins, and how long commands take.
package mongo

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	AuthFailed finding.Code = "mongo.auth-failed"
	Error      finding.Code = "mongo.error"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	code := finding.Metric{Name: "error_code", Doc: "number of the error"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	times := finding.Metric{Name: "errors", Merge: finding.Sum, Doc: "such errors"}
	return proto.Spec{
		Name: "mongo", Doc: "MongoDB wire protocol",
		Carrier: proto.TCP, Ports: []uint16{27017},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < headLen {
				return proto.NeedMore
			}
			n, op := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[12:])
			if n < headLen || n > longest || op != opMsg && op != opQuery && op != opReply && op != opCompressed {
				return proto.No
			}
			if op == opReply {
				return proto.Likely
			}
			return proto.Certain
		},
		New: newAnalyzer,
		Codes: []finding.Def{
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc:     "The server refused a login (18) or wants one for the command (13).",
				Metrics: []finding.Metric{code, text, {Name: "command", Text: true, Doc: "the command"}, times},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc:     "The server answered a command with another error, such as a time-out (50) or not being the primary (10107).",
				Metrics: []finding.Metric{code, text, {Name: "command", Text: true, Doc: "the command"}, times},
			},
		},
	}
}

const (
	headLen                               = 16
	longest                               = 48_000_000
	opReply, opQuery, opCompressed, opMsg = 1, 2004, 2012, 2013
	unauthorized, authenticationFailed    = 13, 18
)

type analyzer struct {
	frames.Reader

	book ask.Book
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "mongo"}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < headLen {
			return 0, nil
		}
		n := binary.LittleEndian.Uint32(b)
		if n < headLen || n > longest {
			return 0, errLength
		}
		return int(n), nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errLength fault = "length of a MongoDB message is impossible"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	op := binary.LittleEndian.Uint32(b[12:])
	doc := document(op, b[headLen:])
	if dir == flow.ToServer {
		_, name, _, _ := element(doc)
		const moreToCome = 2
		if op == opMsg && len(b) >= headLen+4 && b[headLen]&moreToCome != 0 {
			return // nobody answers
		}
		if name == "" {
			name = "command"
		}
		a.book.Queue(s, uint64(binary.LittleEndian.Uint32(b[4:])), name, total)
		return
	}
	ok, code, text := outcome(doc)
	result := "ok"
	if !ok {
		result = strconv.Itoa(code)
	}
	r, _, _ := a.book.Answer(s, uint64(binary.LittleEndian.Uint32(b[8:])), result, !ok, total)
	sasl := r.Label == "saslStart" || r.Label == "saslContinue" || r.Label == "authenticate"
	switch {
	case ok:
	case code == unauthorized || code == authenticationFailed:
		s.Report(AuthFailed, finding.Num(code), finding.Text(text), finding.Text(r.Label), finding.Num(1))
		if sasl {
			s.Publish(&proto.Login{Protocol: "mongo", Client: s.Client().Addr(), Server: s.Server()})
		}
	default:
		s.Report(Error, finding.Num(code), finding.Text(text), finding.Text(r.Label), finding.Num(1))
	}
}

// document is the first BSON document of a message, behind its length.
func document(op uint32, v []byte) []byte {
	switch op {
	case opMsg: // flags, then sections; kind 0 is a document
		if len(v) < 9 || v[4] != 0 {
			return nil
		}
		v = v[5:]
	case opReply: // flags, cursor, from, count
		if len(v) < 20 {
			return nil
		}
		v = v[20:]
	case opQuery: // flags, name, skip, count
		if len(v) < 4 {
			return nil
		}
		i := bytes.IndexByte(v[4:], 0)
		if i < 0 || len(v) < 4+i+1+8 {
			return nil
		}
		v = v[4+i+1+8:]
	default:
		return nil
	}
	if len(v) < 5 {
		return nil
	}
	return v[4:]
}

// element reads one BSON element (bsonspec.org) and returns what follows it;
// rest is nil at the end, and when the length is not known.
func element(b []byte) (typ byte, name string, value, rest []byte) {
	if len(b) < 2 || b[0] == 0 {
		return 0, "", nil, nil
	}
	i := bytes.IndexByte(b[1:], 0)
	if i < 0 {
		return 0, "", nil, nil
	}
	typ, name = b[0], ask.Clip(b[1:1+i])
	v := b[2+i:]
	n := 0
	sized := func(extra int) int {
		if len(v) < 4 {
			return -1
		}
		return int(binary.LittleEndian.Uint32(v)) + extra
	}
	switch typ {
	case 1, 9, 17, 18:
		n = 8
	case 2, 13, 14:
		n = sized(4)
	case 3, 4, 15:
		n = sized(0)
	case 5:
		n = sized(5)
	case 7:
		n = 12
	case 8:
		n = 1
	case 16:
		n = 4
	case 19:
		n = 16
	case 6, 10, 255, 127:
	default:
		return typ, name, nil, nil
	}
	if n < 0 || n > len(v) {
		return typ, name, nil, nil
	}
	return typ, name, v[:n], v[n:]
}

// outcome reads "ok", "code" and "errmsg" of an answer.
func outcome(doc []byte) (ok bool, code int, text string) {
	ok = true
	for range 64 {
		typ, name, v, rest := element(doc)
		if rest == nil {
			break
		}
		switch {
		case name == "ok" && typ == 1:
			ok = math.Float64frombits(binary.LittleEndian.Uint64(v)) != 0
		case name == "ok" && typ == 16:
			ok = binary.LittleEndian.Uint32(v) != 0
		case name == "code" && typ == 16:
			code = int(int32(binary.LittleEndian.Uint32(v))) //nolint:gosec // codes are signed
		case name == "errmsg" && typ == 2 && len(v) > 5:
			text = ask.Clip(v[4 : len(v)-1])
		}
		doc = rest
	}
	return ok, code, text
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
