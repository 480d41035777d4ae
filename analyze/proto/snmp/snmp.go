// Package snmp reads the Simple Network Management Protocol (RFC 3416, RFC 1157):
// errors, agents that do not answer, and how much longer than the question the
// answers are.
package snmp

import (
	"bytes"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/ber"
)

// Codes of findings.
const (
	Error    finding.Code = "snmp.error"
	NoAnswer finding.Code = "snmp.no-answer"
	Trap     finding.Code = "snmp.trap"
	Rejected finding.Code = "snmp.rejected"
	Guessing finding.Code = "snmp.communities"
	NoSuch   finding.Code = "snmp.no-such-object"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "snmp", Doc: "Simple Network Management Protocol, RFC 3416",
		Carrier: proto.UDP, Ports: []uint16{161, 162},
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "snmp"}} },
		Codes: []finding.Def{
			{
				Code: Error, Severity: finding.Info,
				Doc: "An agent answered with an error status (RFC 3416, 3); noSuchName ends a walk of version 1 and is normal.",
				Metrics: []finding.Metric{
					{Name: "status", Text: true, Doc: "name of the status"},
					{Name: "errors", Merge: finding.Sum, Doc: "such answers"},
				},
			},
			{
				Code: NoSuch, Severity: finding.Info,
				Doc: "An agent answered that it does not have an object, or no instance of it (RFC 3416, 4.2.1). The end of what it has (endOfMibView) ends a walk and is not told.",
				Metrics: []finding.Metric{
					{Name: "kind", Text: true, Doc: "noSuchObject or noSuchInstance"},
					{Name: "object", Text: true, Doc: "the first of them, as numbers"},
					{Name: "objects", Merge: finding.Sum, Doc: "values that are not there"},
				},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc: "Requests to an agent have no answer, five seconds long or after a repetition: wrong community (RFC 1157, 4.1: agents stay silent), access list, or no agent.",
				Metrics: []finding.Metric{
					{Name: "requests", Merge: finding.Sum, Doc: "requests without answer"},
					{Name: "answered", Merge: finding.Max, Doc: "requests of the conversation that were answered"},
					{Name: "version", Text: true, Doc: "1, 2c or 3"},
					{Name: "sent", Merge: finding.Sum, Doc: "times that they were sent"},
				},
			},
			{
				Code: Trap, Severity: finding.Info,
				Doc:     "A device reported an event of its own (RFC 3416, 4.2.6).",
				Metrics: []finding.Metric{{Name: "traps", Merge: finding.Sum, Doc: "traps and informs"}, {Name: "kind", Text: true, Doc: "of version 1: link down, authentication failure ...; empty: another, or not read"}},
			},
			{
				Code: Rejected, Severity: finding.Notice,
				Doc: "The agent's security model refused a message of version 3: unknown user, wrong password, level of security (RFC 3414, 3.2). That it tells its engine and its clock is the normal course.",
				Metrics: []finding.Metric{
					{Name: "reason", Text: true, Doc: "counter that the report names"},
					{Name: "user", Text: true, Doc: "of the message"},
					{Name: "times", Merge: finding.Sum, Doc: "refusals"},
				},
			},
			{
				Code: Guessing, Severity: finding.Notice,
				Doc: "One client tried five different communities or more at an agent.",
				Metrics: []finding.Metric{
					{Name: "communities", Merge: finding.Sum, Doc: "different ones; at most 64 are told apart in a conversation"},
					{Name: "answered", Merge: finding.Sum, Doc: "requests that were answered"},
				},
			},
		},
	}
}

// Tags of PDUs (RFC 3416, 3).
const (
	get, getNext, response, set = 0xa0, 0xa1, 0xa2, 0xa3
	trap1, bulk, inform, trap2  = 0xa4, 0xa5, 0xa6, 0xa7
	report                      = 0xa8
	version3                    = 3
	patience                    = 5_000_000_000
)

type message struct {
	version int64
	pdu     byte
	id      uint64
	status  int64
	name    []byte // community, or user of version 3
	refused byte   // counter of the security model that a report names (RFC 3414, 5)
	generic int64  // trap of version 1
	values  []byte // of an answer: names and values
}

// parse reads as far as the error status; datagrams that were cut are read too.
func parse(b []byte) (m message, ok bool) {
	v, _, ok := ber.Head(b)
	if !ok || v.Tag != ber.Sequence {
		return m, false
	}
	body, rest, ok := ber.Want(v.Body, ber.Integer)
	if !ok || len(body) != 1 || body[0] == 2 || body[0] > version3 {
		return m, false
	}
	m.version = ber.Int(body)
	if m.version == version3 {
		body, _, ok = ber.Want(rest, ber.Sequence) // RFC 3412, 6: id, size, flags, model
		if !ok {
			return m, false
		}
		id, _, ok := ber.Want(body, ber.Integer)
		m.id = ber.Uint(id)
		m.pdu = version3
		if ok {
			_, rest, _ = ber.Want(rest, ber.Sequence)
			m.secured(rest)
		}
		return m, ok
	}
	m.name, rest, ok = ber.Want(rest, ber.OctetString)
	if !ok {
		return m, false
	}
	p, _, ok := ber.Head(rest)
	if !ok || p.Tag < get || p.Tag > report {
		return m, false
	}
	m.pdu = p.Tag
	if p.Tag == trap1 {
		m.generic = genericTrap(p.Body)
		return m, true
	}
	id, rest, ok := ber.Want(p.Body, ber.Integer)
	if !ok {
		return m, false
	}
	status, rest, ok := ber.Want(rest, ber.Integer)
	m.id, m.status = ber.Uint(id), ber.Int(status)
	if m.pdu == response && m.status == 0 {
		if _, rest, whole := ber.Want(rest, ber.Integer); whole { // index of the error
			m.values, _, _ = ber.Want(rest, ber.Sequence)
		}
	}
	return m, ok
}

// secured reads what RFC 3414 puts before the data, and the report behind it if that
// is in clear.
func (m *message) secured(b []byte) {
	params, rest, ok := ber.Want(b, ber.OctetString)
	if !ok {
		return
	}
	if in, _, ok := ber.Want(params, ber.Sequence); ok {
		_, in, _ = ber.Want(in, ber.OctetString) // engine
		_, in, _ = ber.Want(in, ber.Integer)     // boots
		_, in, _ = ber.Want(in, ber.Integer)     // time
		m.name, _, _ = ber.Want(in, ber.OctetString)
	}
	scoped, _, ok := ber.Want(rest, ber.Sequence)
	if !ok {
		return
	}
	_, scoped, _ = ber.Want(scoped, ber.OctetString)
	_, scoped, ok = ber.Want(scoped, ber.OctetString)
	if !ok {
		return
	}
	if p, _, ok := ber.Head(scoped); ok && p.Tag == report {
		usmStats := []byte{0x2b, 6, 1, 6, 3, 15, 1, 1} // 1.3.6.1.6.3.15.1.1
		if i := bytes.Index(p.Body, usmStats); i >= 0 && i+len(usmStats) < len(p.Body) {
			m.refused = p.Body[i+len(usmStats)]
		}
	}
}

// genericTrap reads the kind of a trap (RFC 1157, 4.1.6), -1 where it cannot.
func genericTrap(b []byte) int64 {
	const networkAddress = 0x40
	_, b, ok := ber.Want(b, objectID) // enterprise
	if !ok {
		return -1
	}
	if _, b, ok = ber.Want(b, networkAddress); !ok {
		return -1
	}
	n, _, ok := ber.Want(b, ber.Integer)
	if !ok {
		return -1
	}
	return ber.Int(n)
}

func trapName(n int64) string {
	names := [...]string{"cold start", "warm start", "link down", "link up", "authentication failure", "EGP neighbour lost"}
	if n >= 0 && int(n) < len(names) {
		return names[n]
	}
	return ""
}

// refusal names counters of the security model that tell a refusal; those of the
// clock (2) and of the engine (4) are how a manager learns both.
func refusal(n byte) string {
	switch n {
	case 1:
		return "security level not supported"
	case 3:
		return "unknown user"
	case 5:
		return "wrong authentication password"
	case 6:
		return "wrong privacy password"
	}
	return ""
}

func probe(_ flow.Dir, b []byte) proto.Verdict {
	if _, ok := parse(b); ok {
		return proto.Certain
	}
	return proto.No
}

type analyzer struct {
	book     ask.Book
	answered uint64
	version  string
	names    map[string]struct{} // communities
}

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	m, ok := parse(b)
	if !ok {
		s.Malformed("not an SNMP message")
		return len(b), nil
	}
	if s.Duplicate() {
		return len(b), nil
	}
	a.version = [...]string{"1", "2c", "", "3"}[m.version]
	switch m.pdu {
	case get, getNext, bulk, set:
		a.community(m.name)
		a.book.Ask(s, m.id, verb(m.pdu), len(b))
	case version3:
		if dir == flow.ToServer {
			a.book.Ask(s, m.id, "encrypted or v3", len(b))
		} else if _, _, ok := a.book.Answer(s, m.id, "", false, len(b)); ok {
			a.answered++
		}
		if reason := refusal(m.refused); reason != "" {
			s.Report(Rejected, finding.Text(reason), finding.Text(ask.Clip(m.name)), finding.Num(1))
		}
	case response, report:
		missing := a.missing(s, m.values)
		result := status(m.status)
		if missing != "" {
			result = missing
		}
		if _, _, ok := a.book.Answer(s, m.id, result, m.status != 0 && m.status != noSuchName, len(b)); ok {
			a.answered++
		}
		if m.status != 0 && m.pdu == response {
			s.Report(Error, finding.Text(status(m.status)), finding.Num(1))
		}
	case trap1, trap2, inform:
		kind := ""
		if m.pdu == trap1 {
			kind = trapName(m.generic)
		}
		s.Report(Trap, finding.Num(1), finding.Text(kind))
	}
	return len(b), nil
}

// missing tells of values that the agent does not have, and returns the kind of the
// first; empty: all are there.
func (*analyzer) missing(s *proto.Scope, values []byte) (kind string) {
	const (
		noSuchObject, noSuchInstance = 0x80, 0x81
		most                         = 256 // values of one answer that are looked at
	)
	for range most {
		pair, rest, ok := ber.Want(values, ber.Sequence)
		if !ok {
			break
		}
		values = rest
		name, rest, ok := ber.Want(pair, objectID)
		if !ok {
			continue
		}
		v, _, ok := ber.Head(rest)
		if !ok || v.Tag != noSuchObject && v.Tag != noSuchInstance {
			continue
		}
		what := "noSuchObject"
		if v.Tag == noSuchInstance {
			what = "noSuchInstance"
		}
		if kind == "" {
			kind = what
		}
		s.Report(NoSuch, finding.Text(what), finding.Text(dotted(name)), finding.Num(1))
	}
	return kind
}

const objectID = 6

// dotted writes an object's name as numbers (X.690, 8.19), as far as 32 of them.
func dotted(name []byte) string {
	var out []byte
	n, most := uint64(0), 32
	for _, c := range name {
		if n = n<<7 | uint64(c&0x7f); c&0x80 != 0 {
			continue
		}
		if out == nil {
			first := min(n/40, 2)
			out = strconv.AppendUint(out, first, 10)
			n -= 40 * first
		}
		out = strconv.AppendUint(append(out, '.'), n, 10)
		n = 0
		if most--; most == 0 {
			return string(out) + "..."
		}
	}
	return string(out)
}

const (
	maxNames = 64
	// A manager has one community for an agent, one to read and one to write.
	manyNames = 5
)

func (a *analyzer) community(name []byte) {
	if _, known := a.names[string(name)]; known || len(a.names) >= maxNames {
		return
	}
	if a.names == nil {
		a.names = map[string]struct{}{}
	}
	a.names[string(name)] = struct{}{}
}

func verb(pdu byte) string {
	switch pdu {
	case getNext:
		return "get-next"
	case bulk:
		return "get-bulk"
	case set:
		return "set"
	}
	return "get"
}

const noSuchName = 2

func status(n int64) string {
	names := [...]string{
		"noError", "tooBig", "noSuchName", "badValue", "readOnly", "genErr", "noAccess", "wrongType", "wrongLength",
		"wrongEncoding", "wrongValue", "noCreation", "inconsistentValue", "resourceUnavailable", "commitFailed", "undoFailed",
		"authorizationError", "notWritable", "inconsistentName",
	}
	if n >= 0 && int(n) < len(names) {
		return names[n]
	}
	return strconv.FormatInt(n, 10)
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	if len(a.names) >= manyNames {
		s.Report(Guessing, finding.Num(len(a.names)), finding.Num(a.answered))
	}
	a.book.GiveUp(s, patience, func(at *proto.Scope, r *ask.Request, _ int64) {
		at.Report(NoAnswer, finding.Num(1), finding.Num(a.answered), finding.Text(a.version), finding.Num(r.Times))
	})
}
