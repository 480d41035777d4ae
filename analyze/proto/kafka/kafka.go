// Package kafka reads Apache Kafka's protocol (kafka.apache.org, "Protocol"): how long
// requests take, and what brokers answer that they cannot or will not do. Where the
// error code of an answer stands depends on the version that was asked for.
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

// Codes of findings.
const (
	Error  finding.Code = "kafka.error"
	Failed finding.Code = "kafka.request-failed"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "kafka", Doc: "Apache Kafka protocol",
		Carrier: proto.TCP, Ports: []uint16{9092},
		Untold: [2]bool{flow.ToClient: true},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToClient || c <= 1 },
		Probe:  probe,
		New:    newAnalyzer,
		Codes: []finding.Def{{
			Code: Error, Severity: finding.Notice,
			Doc: "The broker answered a login or the question for versions with an error code.",
			Metrics: []finding.Metric{
				{Name: "request", Text: true, Doc: "what was asked"},
				{Name: "code", Doc: "error code"},
				{Name: "errors", Merge: finding.Sum, Doc: "such answers"},
			},
		}, {
			Code: Failed, Severity: finding.Info,
			Doc: "The broker answered a request with an error (kafka.apache.org, \"Protocol\", error codes). access says that rights are missing, moved that another broker has to be asked, unable that the broker cannot serve for now. What belongs to the normal course of consumers, as a group that rebalances, is not told.",
			Metrics: []finding.Metric{
				{Name: "request", Text: true, Doc: "what was asked"},
				{Name: "code", Doc: "error code"},
				{Name: "name", Text: true, Doc: "its name"},
				{Name: "topic", Text: true, Doc: "the topic; empty: of none, or a number"},
				{Name: "errors", Merge: finding.Sum, Doc: "answers with an error"},
				{Name: "answers", Merge: finding.Max, Doc: "all answers of the conversation so far"},
				{Name: "access", Merge: finding.Max, Doc: "1 when access is refused"},
				{Name: "moved", Merge: finding.Max, Doc: "1 when another broker has to be asked"},
				{Name: "unable", Merge: finding.Max, Doc: "1 when the broker cannot serve"},
			},
		}},
	}
}

const longest = 1 << 28

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

	book    ask.Book
	asked   map[uint32]answerTo // by id
	answers uint64
}

func newAnalyzer() proto.Analyzer {
	a := &analyzer{book: ask.Book{Protocol: "kafka"}, asked: map[uint32]answerTo{}}
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
		q, id := answerTo{binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])}, binary.BigEndian.Uint32(b[8:])
		const most = 1024
		if len(a.asked) >= most { // producers may want no answers (acks=0)
			clear(a.asked)
		}
		a.asked[id] = q
		a.book.Queue(s, uint64(id), label(q.key), total)
		return
	}
	id := binary.BigEndian.Uint32(b[4:])
	q, known := a.asked[id]
	delete(a.asked, id)
	a.answers++
	code, topic := int16(0), []byte(nil)
	if known {
		code, topic = q.failure(b[8:])
	}
	if q.normal(code) {
		a.book.Answer(s, uint64(id), strconv.Itoa(int(code)), false, total)
		return
	}
	a.book.Answer(s, uint64(id), strconv.Itoa(int(code)), true, total)
	switch q.key {
	case saslHandshake, apiVersions, saslAuth:
		s.Report(Error, finding.Text(label(q.key)), finding.Num(int(code)), finding.Num(1))
		if q.key == saslAuth {
			s.Publish(&proto.Login{Protocol: "kafka", Client: s.Client().Addr(), Server: s.Server()})
		}
	default:
		access, moved, unable := meaning(code)
		s.Report(Failed, finding.Text(label(q.key)), finding.Num(int(code)), finding.Text(errorName(code)), finding.Text(ask.Clip(topic)),
			finding.Num(1), finding.Num(a.answers), finding.Num(access), finding.Num(moved), finding.Num(unable))
	}
}

func label(key uint16) string {
	names := [...]string{
		produce: "Produce", fetch: "Fetch", listOffsets: "ListOffsets", metadata: "Metadata", offsetCommit: "OffsetCommit",
		offsetFetch: "OffsetFetch", coordinator: "FindCoordinator", joinGroup: "JoinGroup", heartbeat: "Heartbeat",
		leaveGroup: "LeaveGroup", sync: "SyncGroup", saslHandshake: "SaslHandshake", apiVersions: "ApiVersions",
		createTopics: "CreateTopics", deleteTopics: "DeleteTopics", newProducer: "InitProducerId", saslAuth: "SaslAuthenticate",
	}
	if int(key) < len(names) && names[key] != "" {
		return names[key]
	}
	return "request " + strconv.Itoa(int(key))
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
