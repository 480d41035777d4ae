// Package kafka reads the heads of Apache Kafka's protocol (kafka.apache.org,
// "Protocol"): how long requests take. Bodies differ by version, and few say
// what failed at a fixed place; those of logins do.
package kafka

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Error is reported for an answer to a login or version request that says no.
const Error finding.Code = "kafka.error"

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "kafka", Doc: "Apache Kafka protocol",
		Carrier: proto.TCP, Ports: []uint16{9092},
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{{
			Code: Error, Severity: finding.Notice,
			Doc: "The broker answered a login or the question for versions with an error code.",
			Metrics: []finding.Metric{
				{Name: "request", Text: true, Doc: "what was asked"},
				{Name: "code", Doc: "error code"},
				{Name: "errors", Merge: finding.Sum, Doc: "such answers"},
			},
		}},
	}
}

const (
	longest                              = 1 << 28
	saslHandshake, apiVersions, saslAuth = 17, 18, 36
	unsupportedVersion                   = 35
)

// probe wants a request of a known kind with a client name that is a text.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToClient {
		return proto.NeedMore // answers have no mark
	}
	if len(b) < 14 {
		if len(b) > 0 && b[0] != 0 {
			return proto.No
		}
		return proto.NeedMore
	}
	n, key, version := binary.BigEndian.Uint32(b), binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	name := int(int16(binary.BigEndian.Uint16(b[12:]))) //nolint:gosec // lengths are signed, -1 is none
	if n < 10 || n > 1<<24 || key > 80 || version > 20 || name < 1 || name > 250 || 10+name > int(n) {
		return proto.No
	}
	for _, c := range b[14:min(len(b), 14+name)] {
		if c < ' ' || c > '~' {
			return proto.No
		}
	}
	if len(b) < 14+name {
		return proto.NeedMore
	}
	return proto.Likely
}

type analyzer struct {
	frames.Reader

	book ask.Book
	kind map[uint32]uint16
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "kafka"}, kind: map[uint32]uint16{}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 4 {
			return 0, nil
		}
		n := binary.BigEndian.Uint32(b)
		if n < 4 || n > longest {
			return 0, errLength
		}
		return 4 + int(n), nil
	}
	a.Message = a.message
	return a
}

type fault string

func (f fault) Error() string { return string(f) }

const errLength fault = "length of a Kafka message is impossible"

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, b []byte, total int) {
	if dir == flow.ToServer {
		if len(b) < 12 {
			return
		}
		key, id := binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint32(b[8:])
		const most = 1024
		if len(a.kind) < most {
			a.kind[id] = key
		}
		a.book.Queue(s, uint64(id), label(key), total)
		return
	}
	id := binary.BigEndian.Uint32(b[4:])
	key, known := a.kind[id]
	delete(a.kind, id)
	code := 0
	if known && (key == saslHandshake || key == apiVersions || key == saslAuth) && len(b) >= 10 {
		code = int(int16(binary.BigEndian.Uint16(b[8:]))) //nolint:gosec // codes are signed
	}
	if key == apiVersions && code == unsupportedVersion {
		code = 0 // the client then asks in an older version
	}
	a.book.Answer(s, uint64(id), strconv.Itoa(code), code != 0, total)
	if code != 0 {
		s.Report(Error, finding.Text(label(key)), finding.Num(code), finding.Num(1))
		if key == saslAuth {
			s.Publish(&proto.Login{Protocol: "kafka", Client: s.Client().Addr(), Server: s.Server()})
		}
	}
}

func label(key uint16) string {
	names := [...]string{
		0: "Produce", 1: "Fetch", 2: "ListOffsets", 3: "Metadata", 8: "OffsetCommit", 9: "OffsetFetch", 10: "FindCoordinator",
		11: "JoinGroup", 12: "Heartbeat", 13: "LeaveGroup", 14: "SyncGroup", 17: "SaslHandshake", 18: "ApiVersions",
		19: "CreateTopics", 22: "InitProducerId", 36: "SaslAuthenticate",
	}
	if int(key) < len(names) && names[key] != "" {
		return names[key]
	}
	return "request " + strconv.Itoa(int(key))
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
