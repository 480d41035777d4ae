// Package tds reads the Tabular Data Stream of Microsoft SQL Server (MS-TDS):
// failed logins, errors, and how long batches take.
package tds

import (
	"encoding/binary"
	"strconv"
	"unicode/utf16"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "tds.login-failed"
	Error       finding.Code = "tds.error"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	number := finding.Metric{Name: "error_number", Doc: "number of the error"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	times := finding.Metric{Name: "errors", Merge: finding.Sum, Doc: "such errors"}
	return proto.Spec{
		Name: "tds", Doc: "Tabular Data Stream, MS-TDS",
		Carrier: proto.TCP, Ports: []uint16{1433},
		First: func(_ flow.Dir, c byte) bool { return known(c) },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server refused the login: 18456 and its kin, or 4060 (cannot open database).",
				Metrics: []finding.Metric{number, text, times},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc:     "The server answered with another error, such as a deadlock (1205) or a time-out of a lock (1222).",
				Metrics: []finding.Metric{number, text, times},
			},
		},
	}
}

// Packet types (MS-TDS, 2.2.3.1.1).
const (
	headLen                   = 8
	batch, rpcCall, tabular   = 1, 3, 4
	attention, bulk, login7   = 6, 7, 16
	prelogin                  = 18
	tokenError, classSecurity = 0xaa, 14
	tokenLoginAck, tokenEnv   = 0xad, 0xe3
	tokenInfo, endOfMessage   = 0xab, 1
	errLogin, errDatabase     = 18456, 4060
)

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if len(b) < headLen {
		if len(b) > 0 && !known(b[0]) {
			return proto.No
		}
		return proto.NeedMore
	}
	n := binary.BigEndian.Uint16(b[2:])
	if !known(b[0]) || b[1]&^0x1f != 0 || n < headLen || n > 32767 || b[7] != 0 {
		return proto.No
	}
	switch b[0] {
	case prelogin: // options begin with the version at the head's end (2.2.6.5)
		if len(b) >= headLen+5 && b[headLen] == 0 && binary.BigEndian.Uint16(b[headLen+1:]) < 256 && int(n) == len(b) {
			return proto.Certain
		}
	case login7:
		if len(b) >= headLen+8 && int(binary.LittleEndian.Uint32(b[headLen:])) == int(n)-headLen {
			return proto.Certain
		}
	}
	return proto.No
}

func known(t byte) bool {
	switch t {
	case batch, rpcCall, tabular, attention, bulk, 14, login7, 17, prelogin:
		return true
	}
	return false
}

type analyzer struct {
	frames.Reader

	book  ask.Book
	open  bool // logged in
	first bool // the next packet of the server begins an answer
	state string
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "tds"}, first: true}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < headLen {
			return 0, nil
		}
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n < headLen || !known(b[0]) {
			return 0, errPacket // also TLS behind the prelogin
		}
		return n, nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errPacket fault = "no TDS packet where one begins (encrypted?)"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	last := b[1]&endOfMessage != 0
	if dir == flow.ToServer {
		a.first = true
		if b[0] != prelogin && last {
			label := map[byte]string{batch: "batch", rpcCall: "rpc", login7: "login", bulk: "bulk load"}[b[0]]
			if b[0] == batch {
				label = statement(b[headLen:])
			}
			if label != "" {
				a.book.Queue(s, 0, label, total)
			}
		}
		return
	}
	if b[0] != tabular {
		return
	}
	if a.first {
		a.tokens(s, b[headLen:])
		a.first = false
		a.book.Answer(s, 0, a.state, a.state != "", total)
		a.state = ""
	}
}

// statement is the beginning of a batch's text, behind its headers (2.2.6.7).
func statement(b []byte) string {
	if len(b) >= 4 {
		if n := int(binary.LittleEndian.Uint32(b)); n >= 4 && n < len(b) && n < 256 {
			b = b[n:]
		}
	}
	const letters = 64
	return wide(b, letters)
}

func wide(b []byte, most int) string {
	u := make([]uint16, min(len(b)/2, most))
	for i := range u {
		u[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(u))
}

// tokens reads those at the beginning of an answer, which have a length.
func (a *analyzer) tokens(s *proto.Scope, b []byte) {
	for range 64 {
		if len(b) < 3 {
			return
		}
		t, n := b[0], int(binary.LittleEndian.Uint16(b[1:]))
		if len(b) < 3+n {
			return
		}
		v := b[3 : 3+n]
		switch t {
		case tokenLoginAck:
			a.open = true
			s.Publish(&proto.Login{Protocol: "tds", Client: s.Client().Addr(), Server: s.Server(), OK: true})
		case tokenError:
			a.fails(s, v)
		case tokenInfo, tokenEnv:
		default:
			return
		}
		b = b[3+n:]
	}
}

func (a *analyzer) fails(s *proto.Scope, v []byte) {
	if len(v) < 8 {
		return
	}
	number, letters := binary.LittleEndian.Uint32(v), int(binary.LittleEndian.Uint16(v[6:]))
	const most = 128
	text := wide(v[8:min(len(v), 8+2*letters)], most)
	a.state = strconv.FormatUint(uint64(number), 10)
	if !a.open || v[5] == classSecurity && (number == errLogin || number == errDatabase) {
		s.Report(LoginFailed, finding.Num(number), finding.Text(text), finding.Num(1))
		s.Publish(&proto.Login{Protocol: "tds", Client: s.Client().Addr(), Server: s.Server()})
		return
	}
	s.Report(Error, finding.Num(number), finding.Text(text), finding.Num(1))
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
