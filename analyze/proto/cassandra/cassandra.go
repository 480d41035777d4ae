// Package cassandra reads the native protocol of Apache Cassandra and its kin, CQL,
// versions 1 to 5 (native_protocol_v5.spec): errors, failed logins, and how long
// requests take.
package cassandra

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	AuthFailed finding.Code = "cql.auth-failed"
	Error      finding.Code = "cql.error"
)

const (
	name   = "cql"
	unread = "data" // what tshark calls versions that it does not read
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	return proto.Spec{
		Name: name, Doc: "Cassandra native protocol (CQL), versions 1 to 5",
		Carrier: proto.TCP, Ports: []uint16{9042},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToServer && c >= 1 && c <= lastVersion },
		Probe:  probe,
		New:    newAnalyzer,
		Also:   []string{unread},
		Counts: true,
		Codes: []finding.Def{
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc:     "The server did not accept the credentials (native_protocol_v5.spec, 8: error 0x0100).",
				Metrics: []finding.Metric{text, {Name: "errors", Merge: finding.Sum, Doc: "such errors"}},
			},
			{
				Code: Error, Severity: finding.Info,
				Doc: "The server answered a request with another error (native_protocol_v5.spec, 8). unable says that the cluster could not do it: replicas that are down, overloaded or too slow. That a statement has to be prepared again, or a version is not spoken, drivers settle by themselves: it is not told.",
				Metrics: []finding.Metric{
					{Name: "error_code", Doc: "number of the error"},
					{Name: "name", Text: true, Doc: "its name"},
					text,
					{Name: "request", Text: true, Doc: "what was asked"},
					{Name: "errors", Merge: finding.Sum, Doc: "such errors"},
					{Name: "answers", Merge: finding.Max, Doc: "all answers of the conversation so far"},
					{Name: "unable", Merge: finding.Max, Doc: "1 when the cluster could not do it"},
				},
			},
		},
	}
}

const (
	longest  = 256 << 20 // of a body (native_protocol_v5.spec, 2.5)
	response = 0x80      // in the version's byte
	// Flags (2.2).
	compressed, traced, payload, warned = 1, 2, 4, 8
	allFlags                            = 0x1f
	// Operations (2.4).
	opError, opStartup, opReady, opAuthenticate = 0x00, 0x01, 0x02, 0x03
	opOptions, opQuery, opPrepare, opEvent      = 0x05, 0x07, 0x09, 0x0c
	opAuthResponse, opAuthSuccess, lastOp       = 0x0f, 0x10, 0x10
	// Errors (8).
	protocolError, badCredentials, unprepared = 0x000a, 0x0100, 0x2500
	lastVersion                               = 5
)

// head is that of a message: in versions 1 and 2 the stream has one byte.
type head struct {
	version, flags, op byte
	stream             int16
	len, body          int
}

func parse(b []byte) (h head, ok bool) {
	if len(b) == 0 {
		return h, false
	}
	h.version, h.body = b[0]&^response, 9
	if h.version < 3 {
		h.body = 8
	}
	if len(b) < h.body {
		return h, false
	}
	h.flags = b[1]
	if h.version < 3 {
		h.stream, h.op = int16(int8(b[2])), b[3] //nolint:gosec // those of the server are negative
	} else {
		h.stream, h.op = int16(binary.BigEndian.Uint16(b[2:])), b[4] //nolint:gosec // likewise
	}
	n := binary.BigEndian.Uint32(b[h.body-4:])
	if h.version < 1 || h.version > lastVersion || h.flags > allFlags || h.op > lastOp || n > longest {
		return head{version: 0xff}, false
	}
	h.len = int(n)
	return h, true
}

// probe wants the request that begins a connection: for options, which are none, or to
// start, with the version of the language.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	h, ok := parse(b)
	switch {
	case dir == flow.ToClient || len(b) == 0 || b[0]&response != 0 || h.version == 0xff || h.version < 1 || h.version > lastVersion:
		return proto.No
	case !ok:
		return proto.NeedMore
	case h.op == opStartup && h.len < 4<<10:
		const least = "\x00\x01\x00\x0bCQL_VERSION" // a map of one; others may stand before
		if len(b) < h.body+min(h.len, len(least)) {
			return proto.NeedMore
		}
		if h.len > len(least) && b[h.body] == 0 && b[h.body+1] < 8 {
			return proto.Certain
		}
	case h.op == opOptions && h.len == 0 && len(b) == h.body:
		return proto.Likely
	}
	return proto.No
}

type analyzer struct {
	frames.Reader

	book    ask.Book
	answers uint64
	packed  bool // the client wants compression
	modern  bool // messages stand in frames of version 5 (2.1)
	login   bool
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: name}}
	a.Length = a.length
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errMessage fault = "no CQL message where one begins"

// Frames of version 5 (native_protocol_v5.spec, 2.1): length and whether messages are
// whole, a checksum, with compression the length without it; the payload; a checksum.
const (
	frameHead, packedHead, frameTail = 6, 8, 4
	lengthBits, wholeBit             = 1<<17 - 1, 1 << 17
)

func (a *analyzer) length(_ flow.Dir, b []byte) (int, error) {
	if a.modern {
		head := frameHead
		if a.packed {
			head = packedHead
		}
		if len(b) < head {
			return 0, nil
		}
		return head + int(little24(b)&lengthBits) + frameTail, nil
	}
	h, ok := parse(b)
	switch {
	case h.version == 0xff:
		return 0, errMessage
	case !ok:
		return 0, nil
	}
	return h.body + h.len, nil
}

func little24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	if v := b[0] &^ response; !a.modern && (v == 3 || v == 4) {
		s.Carries(name)
	} else {
		s.Carries(unread)
	}
	if !a.modern {
		a.envelope(s, dir, b, total)
		return
	}
	if a.packed || little24(b)&wholeBit == 0 {
		return // nothing to be read without unpacking, or a piece of what is long
	}
	b = b[frameHead:max(len(b)-frameTail, frameHead)]
	for len(b) > 0 {
		h, ok := parse(b)
		if !ok {
			return
		}
		n := min(h.body+h.len, len(b))
		a.envelope(s, dir, b[:n], h.body+h.len)
		b = b[n:]
	}
}

// envelope takes one message.
func (a *analyzer) envelope(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	h, ok := parse(b)
	if !ok {
		return
	}
	body := b[h.body:]
	if dir == flow.ToServer {
		a.request(s, h, body, total)
		return
	}
	if h.op == opEvent {
		return
	}
	a.answers++
	id := uint64(uint16(h.stream)) //nolint:gosec // it only names a request
	switch h.op {
	case opError:
		a.fails(s, h, id, body, total)
		return
	case opReady, opAuthenticate:
		a.login = h.op == opAuthenticate
		a.modern = h.version == lastVersion
	case opAuthSuccess:
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), OK: true})
	}
	a.book.Answer(s, id, "ok", false, total)
}

func (a *analyzer) request(s *proto.Scope, h head, body []byte, total int) {
	label := operation(h.op)
	switch h.op {
	case opQuery, opPrepare:
		if h.flags&(compressed|payload) == 0 && len(body) > 4 {
			const enough = 60
			n := min(int(binary.BigEndian.Uint32(body)&(longest-1)), len(body)-4, enough)
			label += " " + string(body[4:4+n])
		}
	case opStartup:
		a.packed = a.packed || hasKey(body, "COMPRESSION")
	}
	a.book.Queue(s, uint64(uint16(h.stream)), label, total) //nolint:gosec // it only names a request
}

// hasKey looks for a key in a map of texts (3: [string map]).
func hasKey(b []byte, key string) bool {
	if len(b) < 2 {
		return false
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	for range n {
		k, rest, ok := text(b)
		if !ok {
			return false
		}
		if string(k) == key {
			return true
		}
		if _, b, ok = text(rest); !ok {
			return false
		}
	}
	return false
}

// text takes a [string] off.
func text(b []byte) (v, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if n > len(b)-2 {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// fails takes an error: behind what flags put before it, a number and words.
func (a *analyzer) fails(s *proto.Scope, h head, id uint64, b []byte, total int) {
	const uuid = 16
	if h.flags&traced != 0 {
		b = b[min(len(b), uuid):]
	}
	if h.flags&warned != 0 && len(b) >= 2 {
		n, ok := int(binary.BigEndian.Uint16(b)), true
		b = b[2:]
		for i := 0; i < n && ok; i++ {
			_, b, ok = text(b)
		}
	}
	if h.flags&(compressed|payload) != 0 || len(b) < 4 {
		a.book.Answer(s, id, "error", true, total)
		return
	}
	code := binary.BigEndian.Uint32(b)
	words, _, _ := text(b[4:])
	normal := code == unprepared || code == protocolError && a.answers == 1
	r, _, _ := a.book.Answer(s, id, fmt.Sprintf("0x%04x", code), !normal, total)
	switch {
	case normal:
	case code == badCredentials:
		s.Report(AuthFailed, finding.Text(ask.Clip(words)), finding.Num(1))
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server()})
	default:
		what, unable := errorName(code)
		s.Report(Error, finding.Num(code), finding.Text(what), finding.Text(ask.Clip(words)), finding.Text(r.Label), finding.Num(1),
			finding.Num(a.answers), finding.Num(unable))
	}
}

func operation(op byte) string {
	names := [...]string{
		opStartup: "STARTUP", 4: "CREDENTIALS", opOptions: "OPTIONS", opQuery: "QUERY", opPrepare: "PREPARE", 10: "EXECUTE", 11: "REGISTER",
		13: "BATCH", opAuthResponse: "AUTH_RESPONSE",
	}
	if int(op) < len(names) && names[op] != "" {
		return names[op]
	}
	return "operation " + strconv.Itoa(int(op))
}

// errorName names an error, and tells whether the cluster was unable.
func errorName(code uint32) (what string, unable int) {
	switch code {
	case 0x0000:
		return "server error", 1
	case protocolError:
		return "protocol error", 0
	case 0x1000:
		return "unavailable", 1
	case 0x1001:
		return "overloaded", 1
	case 0x1002:
		return "bootstrapping", 1
	case 0x1003:
		return "truncate error", 1
	case 0x1100:
		return "write timeout", 1
	case 0x1200:
		return "read timeout", 1
	case 0x1300:
		return "read failure", 1
	case 0x1400:
		return "function failure", 0
	case 0x1500:
		return "write failure", 1
	case 0x2000:
		return "syntax error", 0
	case 0x2100:
		return "unauthorized", 0
	case 0x2200:
		return "invalid", 0
	case 0x2300:
		return "configuration", 0
	case 0x2400:
		return "already exists", 0
	}
	return "other", 0
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
