// Package sip reads the Session Initiation Protocol (RFC 3261) over UDP and TCP:
// calls and registrations that fail, with the code of the answer.
package sip

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
)

// Codes of findings.
const (
	Failed     finding.Code = "sip.request-failed"
	AuthFailed finding.Code = "sip.auth-failed"
	NoAnswer   finding.Code = "sip.no-answer"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	method := finding.Metric{Name: "method", Text: true, Doc: "what was asked"}
	to := finding.Metric{Name: "to", Text: true, Doc: "whom the request was for"}
	code := finding.Metric{Name: "code", Doc: "status code (RFC 3261, 21)"}
	reason := finding.Metric{Name: "reason", Text: true, Doc: "the answer's words"}
	return proto.Spec{
		Name: name, Doc: "Session Initiation Protocol, RFC 3261",
		Also:    []string{sdp},
		Carrier: proto.UDP, Ports: []uint16{5060}, Anywhere: true,
		Probe: probe,
		New:   func() proto.Analyzer { return &analyzer{open: map[string]*request{}} },
		Codes: []finding.Def{
			{
				Code: Failed, Severity: finding.Notice,
				Doc:     "A request was answered with 4xx, 5xx or 6xx. Challenges (401, 407), busy (486), no answer of the person (480, 408) and cancelled (487) are among them: the code tells.",
				Metrics: []finding.Metric{code, reason, method, to, {Name: "user_side", Merge: finding.Min, Doc: "1 when all codes are such that persons cause: 480, 486, 487, 600, 603"}, {Name: "times", Merge: finding.Sum, Doc: "such answers"}},
			},
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc:     "Credentials were sent and refused: 401 or 407 to a request that had some, or 403 to a registration (RFC 3261, 22).",
				Metrics: []finding.Metric{code, reason, method, to, {Name: "times", Merge: finding.Sum, Doc: "refusals"}},
			},
			{
				Code: NoAnswer, Severity: finding.Notice,
				Doc:     "A request has no answer of any kind, four seconds long and after repetitions (RFC 3261, 17.1: T1 500 ms).",
				Metrics: []finding.Metric{method, to, {Name: "requests", Merge: finding.Sum, Doc: "times it was sent"}},
			},
		},
	}
}

const (
	name = "sip"
	sdp  = "sdp"
)

func methods() [14]string {
	return [...]string{"INVITE ", "REGISTER ", "OPTIONS ", "ACK ", "BYE ", "CANCEL ", "SUBSCRIBE ", "NOTIFY ", "PUBLISH ", "INFO ", "REFER ", "MESSAGE ", "UPDATE ", "PRACK "}
}

const answerLine = "SIP/2.0 "

func probe(_ flow.Dir, b []byte) proto.Verdict {
	line, _, _ := bytes.Cut(b[:min(len(b), 512)], []byte{'\n'})
	if bytes.HasPrefix(line, []byte(answerLine)) {
		return proto.Certain
	}
	for _, m := range methods() {
		if bytes.HasPrefix(line, []byte(m)) && bytes.HasSuffix(bytes.TrimRight(line, "\r"), []byte(" SIP/2.0")) {
			return proto.Certain
		}
	}
	return proto.No
}

// request waits for its final answer.
type request struct {
	method, to string
	start      int64
	frame      uint64
	lastAt     int64
	last       uint64
	times      uint64
	bytes      uint64
	credited   bool // it had credentials
	ringing    bool // a provisional answer came
	described  bool // with a session description
	first      int64
	firstFrame uint64
}

type analyzer struct{ open map[string]*request }

const maxOpen = 256

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if s.Duplicate() || len(bytes.TrimSpace(b[:min(len(b), 8)])) == 0 {
		return len(b), nil // keep-alive (RFC 5626, 3.5.1)
	}
	a.message(s, b)
	return len(b), nil
}

func (a *analyzer) message(s *proto.Scope, b []byte) {
	first, rest, ok := bytes.Cut(b, []byte{'\n'})
	if !ok {
		return
	}
	h := headers(rest)
	key := h.id + "|" + h.seq
	if h.sdp {
		s.Carries(sdp)
		a.describe(s, key, first, h.body)
	}
	if bytes.HasPrefix(first, []byte(answerLine)) {
		a.answer(s, key, first[len(answerLine):], &h, len(b))
	} else {
		a.request(s, key, first, &h, len(b))
	}
}

type head struct {
	id, seq, to string
	auth, sdp   bool
	body        []byte
}

// headers reads those that are needed, in long and short form (RFC 3261, 7.3.3).
func headers(b []byte) (h head) {
	const most = 128
	for range most {
		line, rest, ok := bytes.Cut(b, []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 || !ok {
			break
		}
		b = rest
		name, value, _ := bytes.Cut(line, []byte{':'})
		v := ask.Clip(bytes.TrimSpace(value))
		switch strings.ToLower(ask.Clip(bytes.TrimSpace(name))) {
		case "call-id", "i":
			h.id = v
		case "cseq":
			h.seq = v
		case "to", "t":
			h.to, _, _ = strings.Cut(v, ";tag=")
		case "authorization", "proxy-authorization":
			h.auth = true
		case "content-type", "c":
			h.sdp = strings.HasPrefix(v, "application/sdp")
		}
	}
	h.body = b
	return h
}

func (a *analyzer) request(s *proto.Scope, key string, line []byte, h *head, n int) {
	verb, _, _ := bytes.Cut(line, []byte{' '})
	method := ask.Clip(verb)
	if method == "ACK" {
		return // is not answered (RFC 3261, 17)
	}
	if r := a.open[key]; r != nil {
		r.times++
		r.lastAt, r.last = s.Now(), s.Frame()
		return
	}
	if len(a.open) >= maxOpen {
		return
	}
	a.open[key] = &request{
		method: method, to: h.to, start: s.Now(), frame: s.Frame(), lastAt: s.Now(), last: s.Frame(), times: 1, bytes: uint64(max(n, 0)), credited: h.auth,
	}
}

func (a *analyzer) answer(s *proto.Scope, key string, line []byte, h *head, n int) {
	digits, words, _ := bytes.Cut(bytes.TrimRight(line, "\r"), []byte{' '})
	code, err := strconv.Atoi(ask.Clip(digits))
	if err != nil || code < 100 || code > 699 {
		s.Malformed("SIP status is no number")
		return
	}
	r := a.open[key]
	if code < 200 {
		if r != nil && r.first == 0 {
			r.ringing, r.first, r.firstFrame = true, s.Now(), s.Frame()
		}
		return
	}
	_, method, _ := strings.Cut(h.seq, " ")
	to, credited := h.to, false
	if r != nil {
		delete(a.open, key)
		method, credited = r.method, r.credited
		at, frame := s.Now(), s.Frame()
		if r.first != 0 {
			at, frame = r.first, r.firstFrame
		}
		s.Exchange(&conn.Exchange{
			Protocol: name, Label: method + " " + to, Code: strconv.Itoa(code), Failed: code >= 400 && code != 401 && code != 407,
			Complete: true, ReqStart: r.start, ReqEnd: r.start, ReqFrame: r.frame, ReqLast: r.frame, ReqBytes: r.bytes,
			RespStart: at, RespFrame: frame, RespEnd: s.Now(), RespLast: s.Frame(), RespBytes: uint64(max(n, 0)),
		})
	}
	if code < 400 || method == "ACK" {
		return
	}
	v := []finding.Value{finding.Num(code), finding.Text(ask.Clip(words)), finding.Text(method), finding.Text(to)}
	switch {
	case (code == 401 || code == 407) && credited, code == 403 && method == "REGISTER":
		s.Report(AuthFailed, append(v, finding.Num(1))...)
		s.Publish(&proto.Login{Protocol: name, Client: s.Client().Addr(), Server: s.Server(), User: to})
	case code == 401 || code == 407: // the challenge that begins each login
	default:
		person := 0
		switch code {
		case 480, 486, 487, 600, 603:
			person = 1
		}
		s.Report(Failed, append(v, finding.Num(person), finding.Num(1))...)
	}
}

// Gap does nothing: there is no stream.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End tells what has no answer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	const patience, repeated = 4_000_000_000, 3
	for _, r := range ordered(a.open) {
		if r.ringing || r.times < repeated || s.Now()-r.start < patience {
			continue
		}
		at := *s
		at.FrameNo, at.At = r.last, r.lastAt
		at.Report(NoAnswer, finding.Text(r.method), finding.Text(r.to), finding.Num(r.times))
	}
}

// ordered are the requests that wait, in the order in which they were sent.
func ordered(open map[string]*request) []*request {
	out := make([]*request, 0, len(open))
	for _, r := range open {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *request) int { return cmp.Compare(a.frame, b.frame) })
	return out
}
