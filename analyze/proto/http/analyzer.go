package http

import (
	"bytes"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/web"
)

// Redirect is published for each redirection, so that a loop over several
// connections can be found.
type Redirect = web.Redirect

// Closes is the fact that tells who wants no further request on the connection:
// client or server, whoever said so first.
const Closes = "http.closes"

// Attempt is published for requests that may be repeated on other connections.
type Attempt = web.Attempt

// Search is published for requests that ask a search page for a host name.
type Search = web.Search

// Bounds, and the wait after which a request is said to have no answer, ns.
const (
	maxPending = 256 // pipelined requests
	maxOCSP    = 16 << 10
	unanswered = web.Second
)

// phase is where in a message a direction stands.
type phase uint8

const (
	atHead phase = iota
	inBody       // a known number of bytes
	inChunk
	atChunkSize
	atTrailer
	untilClose
	lost // after a gap: look for the next head
)

// half is one direction.
type half struct {
	phase phase
	left  int64       // of the body or chunk
	media string      // what the body is counted as; empty: there is none so far, or nothing to name
	kind  string      // the same, before its first byte came
	json  *web.JSON   // what the body is; nil: it claims to be something else
	zip   *web.Packed // the same, compressed
	muted bool        // tshark does not recognise the message at hand
	follow
}

// request is one request that waits for its response, or has one that is being
// received.
type request struct {
	label string
	q     web.Request
	code  string // of the response
	wire  [2]wire
	whole bool
	gap   bool // bytes of it were lost

	expect     int64 // time of the head that asked for 100 Continue; 0: it did not
	headAnswer bool  // a 100 came
	failed     bool
	unanswered bool
	again      bool // it was asked again while it waited
	told       bool // what became of it
	status     int  // of the response
}

// wire is a message as it came: its first and last bytes.
type wire struct {
	start, end  int64 // ns
	first, last uint64
	bytes       uint64
}

// desk keeps the lists of requests of connections that have none, for the next
// request to use.
type desk struct {
	lists [][]request
	unzip web.Unpacker
}

// Bounds of those that are kept: most connections ask for one thing at a time.
const (
	maxLists    = 1 << 8
	maxListKept = 4
)

// analyzer is one connection.
type analyzer struct {
	desk    *desk // the lane's; nil: not needed yet
	half    [2]half
	pending []request // oldest first; the last may be incomplete
	status  int       // of the response being received; 0: none
	holes   bool      // bytes of it are not in the capture
	short   bool      // its body is still to come, and may be short enough for a refusal
	ocsp    bool      // it is an OCSP answer, kept in answer
	answer  []byte
	last    int64
	began   bool
	asked   bool // a request was seen, by tshark too
	heard   bool // the server said something
	given   bool // the first request was handed over
	repeats int  // of the next requests are told, since one before failed
}

// Data implements proto.Analyzer. It uses at most one head or piece of body a
// call, so that Began is that of the piece.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	a.last = s.Now()
	a.heard = a.heard || dir == flow.ToClient
	h := &a.half[dir]
	h.misses(s)
	switch {
	case cut(s):
		h.piece(s, dir, b, a.asked)
	case h.sync != synced || h.parted:
		h.segment(s, dir, b, a.asked)
	}
	switch h.phase {
	case atHead:
		return a.head(s, dir, b), nil
	case lost:
		return a.resync(s, dir, b), nil
	case inBody, inChunk:
		n := min(h.left, int64(len(b)))
		h.left -= n
		a.body(s, dir, b[:n])
		if h.left == 0 {
			if h.phase == inChunk {
				h.phase = atTrailer // the line end behind a chunk, read like an empty trailer line
				h.left = -1
			} else {
				a.complete(s, dir)
			}
		}
		return int(n), nil
	case atChunkSize:
		return a.chunkSize(s, dir, b), nil
	case atTrailer:
		return a.trailer(s, dir, b), nil
	case untilClose:
		a.body(s, dir, b)
		return len(b), nil
	}
	return len(b), nil
}

// head reads the head of a request or response.
func (a *analyzer) head(s *proto.Scope, dir flow.Dir, b []byte) int {
	if len(b) > 0 && b[0] <= '\r' {
		if skip := len(b) - len(bytes.TrimLeft(b, "\r\n")); skip > 0 { // RFC 9112, 2.2
			return skip
		}
	}
	var h head
	ok, is := h.parse(b, dir == flow.ToClient)
	if !ok && is && cut(s) {
		h.begin(b, dir == flow.ToClient)
	}
	switch {
	case !is, !ok && len(b) > maxHead:
		if is {
			s.Malformed("HTTP header longer than any server takes")
		} else if dir == flow.ToServer && a.fresh() {
			a.unreadable(s)
		}
		a.half[dir].lose(s, dir, b, a.asked)
		return len(b)
	case !ok && cut(s) && (len(h.method) > 0 || h.status > 0):
		h.size, h.length = len(b), 0
		a.begin(s, dir, &h)
		a.half[dir].phase = lost
		return len(b)
	case !ok:
		a.half[dir].begun(s, len(b))
		return 0
	}
	a.begin(s, dir, &h)
	return h.size
}

// cut reports whether the frame at hand was cut by the snaplen: what is missing
// of its message will not come.
func cut(s *proto.Scope) bool {
	p := s.Packet()
	return p != nil && p.Payload < p.End && p.PayloadLen > p.End-p.Payload
}

// fresh reports whether no request is being received.
func (a *analyzer) fresh() bool { return len(a.pending) == 0 || a.pending[len(a.pending)-1].whole }

// begin acts on a head.
func (a *analyzer) begin(s *proto.Scope, dir flow.Dir, h *head) {
	if !a.began {
		a.began = true
		s.App(name)
	}
	if h.bad {
		s.Malformed("HTTP Content-Length that is no number")
	}
	a.half[dir].begin(s)
	if dir == flow.ToServer {
		if h.closes() {
			s.Attr(Closes, "client")
		}
		a.request(s, h)
		return
	}
	if h.closes() && h.status >= 200 {
		s.Attr(Closes, "server")
	}
	a.response(s, h)
}

// resync looks for a head at the start of a segment.
func (a *analyzer) resync(s *proto.Scope, dir flow.Dir, b []byte) int {
	if mayBegin(dir, b) {
		return 0
	}
	if !begins(dir, b) {
		return len(b)
	}
	a.half[dir].phase = atHead
	if dir == flow.ToClient {
		// How many responses were lost is not known. Who does not pipeline has
		// asked again only after the answer: this one is that of the last request.
		for len(a.pending) > 1 {
			a.give(s, false)
		}
	}
	return a.head(s, dir, b)
}

// expect notes one more request.
func (a *analyzer) expect(s *proto.Scope, r *request) {
	if a.desk == nil {
		a.desk = proto.Kept[desk](s)
	}
	if d := a.desk; a.pending == nil && len(d.lists) > 0 {
		n := len(d.lists) - 1
		a.pending, d.lists = d.lists[n], d.lists[:n]
	}
	a.pending = append(a.pending, *r)
}

// forget drops the oldest request.
func (a *analyzer) forget() {
	n := copy(a.pending, a.pending[1:])
	clear(a.pending[n:])
	a.pending = a.pending[:n]
	if n > 0 {
		return
	}
	if d := a.desk; len(d.lists) < maxLists && cap(a.pending) <= maxListKept {
		d.lists = append(d.lists, a.pending)
	}
	a.pending = nil
}

func (a *analyzer) request(s *proto.Scope, h *head) {
	a.asked = a.asked || !a.half[flow.ToServer].muted
	if len(a.pending) >= maxPending {
		a.give(s, false)
	}
	method, label := labelOf(s, h)
	r := request{label: label, q: web.Request{
		Method: method, Target: strings.TrimPrefix(label[len(method):], " "), Host: s.Word(h.host[:min(len(h.host), web.MaxHost)]),
		Auth: len(h.auth) > 0, Seen: true,
	}}
	if r.q.Auth {
		r.q.AuthScheme = web.Scheme(h.auth)
	}
	if r.q.Host != "" {
		s.Name(hostOnly(r.q.Host))
		web.Searched(s, hostOnly(r.q.Host), r.q.Target)
	}
	if len(h.agent) > 0 {
		s.Attr("http.user_agent", s.Word(h.agent[:min(len(h.agent), proto.MaxAttrBytes)]))
	}
	if h.expect {
		r.expect = s.Now()
	}
	r.wire[flow.ToServer] = began(s, h.bytes())
	a.impatient(&r)
	a.expect(s, &r)
	p := &a.half[flow.ToServer]
	p.expect(h)
	switch {
	case h.chunked:
		p.phase = atChunkSize
	case h.length > 0:
		p.phase, p.left = inBody, h.length
	default:
		a.complete(s, flow.ToServer)
	}
}

// labelOf is what a request asks for, method and target, in one text; those that
// are short come again.
func labelOf(s *proto.Scope, h *head) (method, label string) {
	const short = 64
	target := h.target[:min(len(h.target), web.MaxTarget)]
	method = s.Word(h.method)
	if len(method)+1+len(target) > short {
		return method, method + " " + string(target)
	}
	var room [short]byte
	return method, s.Word(append(append(append(room[:0], h.method...), ' '), target...))
}

// began is a message of which n bytes have come.
func began(s *proto.Scope, n uint64) wire {
	at, frame := s.Began()
	return wire{start: at, first: frame, end: s.Now(), last: s.Frame(), bytes: n}
}

// expect notes what the body is that follows a head.
func (h *half) expect(head *head) {
	h.kind, h.json, h.zip = web.Body(head.kind), nil, nil
	switch {
	case h.kind != web.NameJSON:
	case head.zipped:
		h.zip = new(web.Packed)
	case !head.encoded:
		h.json = new(web.JSON)
	}
}

// carries counts what the body was. Wireshark shows as text what it cannot read as JSON,
// and as data what it cannot unpack.
func (h *half) carries(s *proto.Scope) {
	if h.media == "" {
		return
	}
	readable, whole := true, true
	switch {
	case h.json != nil:
		whole = h.json.Whole()
	case h.zip != nil:
		readable, whole = proto.Kept[desk](s).unzip.JSON(h.zip)
	}
	if !readable {
		s.Carries(web.Media(nil))
		return
	}
	s.Carries(h.media)
	if !whole {
		s.Carries(web.NameText)
	}
}

// drop gives back what is kept of a body.
func (h *half) drop(s *proto.Scope) {
	if h.zip != nil {
		proto.Kept[desk](s).unzip.Drop(h.zip)
		h.zip = nil
	}
}

// unreadable notes a request that no one can read; its answer tells more.
func (a *analyzer) unreadable(s *proto.Scope) {
	if len(a.pending) > 0 {
		return
	}
	r := request{whole: true, label: "(unreadable request)"}
	r.wire[flow.ToServer] = began(s, 0)
	a.expect(s, &r)
}

func hostOnly(host string) string {
	for i := len(host) - 1; i >= 0; i-- {
		if host[i] == ':' {
			return host[:i]
		}
		if host[i] < '0' || host[i] > '9' {
			break
		}
	}
	return host
}

func (a *analyzer) response(s *proto.Scope, h *head) {
	if len(h.server) > 0 {
		s.Attr("http.server", s.Word(h.server[:min(len(h.server), proto.MaxAttrBytes)]))
	}
	if h.status < 200 && h.status != 101 {
		if !a.half[flow.ToClient].muted {
			s.Count(proto.HTTPStatus, statusText(s, h.status))
			s.Carries(name)
		}
		if len(a.pending) > 0 {
			a.pending[0].headAnswer = true
		}
		return
	}
	r := a.current(s)
	method, target := r.q.Method, r.q.Target // r is given away when the response is whole
	r.wire[flow.ToClient] = began(s, h.bytes())
	r.code = statusText(s, h.status)
	a.status, a.holes = h.status, cut(s)
	if a.holes && !a.half[flow.ToClient].muted {
		s.Count(proto.HTTPStatus, r.code) // tshark waits for no body then
	}
	a.ocsp, a.answer = bytes.HasPrefix(h.kind, []byte("application/ocsp-response")), nil
	wait := int64(0)
	if r.wire[flow.ToServer].first != 0 && !r.gap && r.whole {
		wait = max(r.wire[flow.ToClient].start-r.wire[flow.ToServer].end, 0)
	}
	r.status = h.status
	r.failed = web.Judge(s, &r.q, &web.Response{Status: h.status, Wait: wait, Challenge: h.challenge, Location: h.location})
	a.short = h.status == 200 && h.length <= web.MaxRefusal && !a.ocsp
	p := &a.half[flow.ToClient]
	p.expect(h)
	switch {
	case h.status == 101 || method == methodConnect && h.status/100 == 2:
		if len(h.upgrade) > 0 {
			s.Attr("http.upgrade", clip(h.upgrade, web.MaxTarget))
		}
		a.complete(s, flow.ToClient)
		if method == methodConnect {
			s.BecomeTunnel(target)
		} else {
			s.Become()
		}
	case method == methodHead || h.status == 204 || h.status == 304:
		a.complete(s, flow.ToClient)
	case h.chunked:
		p.phase = atChunkSize
	case h.length >= 0:
		p.phase, p.left = inBody, h.length
		if h.length == 0 {
			a.complete(s, flow.ToClient)
		}
	default:
		p.phase = untilClose
	}
}

// statusText writes a status without allocating.
func statusText(s *proto.Scope, status int) string {
	var room [20]byte
	return s.Word(strconv.AppendInt(room[:0], int64(status), 10))
}

// current is the request that a response belongs to; one that was not captured
// is made up, without times.
func (a *analyzer) current(s *proto.Scope) *request {
	if len(a.pending) == 0 {
		a.expect(s, &request{whole: true, gap: true, label: "(request not captured)"})
	}
	return &a.pending[0]
}

// body takes bytes of a body: they are counted, and kept only of an OCSP answer.
func (a *analyzer) body(s *proto.Scope, dir flow.Dir, b []byte) {
	if dir == flow.ToClient && a.ocsp {
		if a.ocsp = len(a.answer)+len(b) <= maxOCSP; a.ocsp {
			a.answer = append(a.answer, b...)
		}
	}
	if dir == flow.ToClient && a.short && len(b) > 0 {
		a.short = false
		a.refused(s, b)
	}
	if h := &a.half[dir]; len(b) > 0 && h.kind != "" {
		h.media, h.kind = web.Seen(h.kind, b), ""
	}
	if h := &a.half[dir]; h.json != nil {
		h.json.Write(b)
	} else if h.zip != nil {
		proto.Kept[desk](s).unzip.Keep(h.zip, b)
	}
	a.count(s, dir, size(len(b)))
}

// refused reports a body that says that the request failed; b is its beginning.
func (a *analyzer) refused(s *proto.Scope, b []byte) {
	if len(a.pending) == 0 || len(b) > web.MaxRefusal {
		return
	}
	if words := web.Refusal(b); words != "" {
		q := &a.pending[0].q
		s.Report(web.ErrorInBody, finding.Text(q.Method), finding.Text(q.Target), finding.Text(q.Host), finding.Text(words), finding.Num(1))
	}
}

// count moves times and sizes of the message at hand.
func (a *analyzer) count(s *proto.Scope, dir flow.Dir, n uint64) {
	if len(a.pending) == 0 {
		return
	}
	r := &a.pending[0]
	if dir == flow.ToServer {
		r = &a.pending[len(a.pending)-1]
		if r.expect != 0 && !r.headAnswer && s.Now()-r.expect >= web.Second/2 {
			s.Report(web.UploadRefused, finding.Text(r.q.Method), finding.Text(r.q.Target), finding.Text(r.q.Host),
				finding.Num(float64(s.Now()-r.expect)/web.Millisecond))
		}
		r.expect = 0
	}
	w := &r.wire[dir]
	w.end, w.last = s.Now(), s.Frame()
	w.bytes += n
}

// chunkSize reads the line before a chunk (RFC 9112, 7.1).
func (a *analyzer) chunkSize(s *proto.Scope, dir flow.Dir, b []byte) int {
	const longest = 1 << 10 // extensions included
	line, next, ok := cutLine(b, 0)
	if !ok {
		if len(b) <= longest {
			return 0
		}
		return a.broken(s, dir, b)
	}
	text, _, _ := bytes.Cut(line, []byte{';'})
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 16, 63)
	if err != nil || n < 0 {
		return a.broken(s, dir, b)
	}
	a.count(s, dir, size(next))
	h := &a.half[dir]
	if n == 0 {
		h.phase, h.left = atTrailer, 0
	} else {
		h.phase, h.left = inChunk, n
	}
	return next
}

func (a *analyzer) broken(s *proto.Scope, dir flow.Dir, b []byte) int {
	s.Malformed("HTTP chunk without a size")
	a.abandon(s, dir)
	return len(b)
}

// trailer reads lines up to an empty one: behind the last chunk (RFC 9112,
// 7.1.2) that ends the message; left is -1 for the line end behind any other.
func (a *analyzer) trailer(s *proto.Scope, dir flow.Dir, b []byte) int {
	line, next, ok := cutLine(b, 0)
	if !ok {
		if len(b) > maxHead {
			return a.broken(s, dir, b)
		}
		return 0
	}
	a.count(s, dir, size(next))
	h := &a.half[dir]
	switch {
	case h.left < 0:
		if len(line) > 0 {
			return a.broken(s, dir, b)
		}
		h.phase = atChunkSize
	case len(line) == 0:
		a.complete(s, dir)
	}
	return next
}

// complete ends a message.
func (a *analyzer) complete(s *proto.Scope, dir flow.Dir) {
	h := &a.half[dir]
	told := !a.gap(dir) && !h.muted && !s.Belated()
	if told {
		s.Carries(name)
		h.carries(s)
	}
	h.drop(s)
	*h = half{follow: h.follow}
	if dir == flow.ToServer {
		if len(a.pending) > 0 {
			a.pending[len(a.pending)-1].whole = true
		}
		return
	}
	if told {
		a.countStatus(s)
	}
	a.give(s, true)
	a.status = 0
}

// gap reports whether bytes of the message at hand are missing: tshark reads none
// of it then.
func (a *analyzer) gap(dir flow.Dir) bool {
	if dir == flow.ToClient {
		return a.holes
	}
	return len(a.pending) > 0 && a.pending[len(a.pending)-1].gap
}

// message counts what came as one message over SCTP.
func message(s *proto.Scope, b []byte) {
	var h head
	response := bytes.HasPrefix(b, []byte(versionPrefix))
	s.Carries(name)
	if ok, is := h.parse(b, response); !ok || !is {
		s.Carries(web.Seen(web.Media(nil), b))
		return
	}
	if response {
		s.Count(proto.HTTPStatus, statusText(s, h.status))
	}
	bodied(s, &h, b[h.size:])
}

// again counts a message that is whole in a segment which was sent again.
func again(s *proto.Scope, dir flow.Dir, b []byte) {
	var h head
	ok, is := h.parse(b, dir == flow.ToClient)
	whole := h.length <= int64(len(b)-h.size)
	switch {
	case cut(s):
		whole = true
		if is && !ok { // as much of the head as is there
			h.begin(b, dir == flow.ToClient)
			ok = len(h.method) > 0 || h.status > 0
		}
	case h.chunked:
		whole = bytes.HasSuffix(b[h.size:], []byte("0\r\n\r\n"))
	}
	switch {
	case len(b) > 0 && !is && (cut(s) || s.Waited() && !waits(b)):
		other(s, b, true)
		return
	case !ok || !is || !whole:
		return
	}
	s.Carries(name)
	if cut(s) {
		started(s, dir, b)
	}
	if dir == flow.ToClient && (h.length >= 0 || h.chunked || cut(s)) {
		s.Count(proto.HTTPStatus, statusText(s, h.status))
	}
}

// countStatus counts a response that came whole, as tshark does: it reads a
// response when the last byte of its body is there.
func (a *analyzer) countStatus(s *proto.Scope) {
	if a.holes {
		return
	}
	s.Count(proto.HTTPStatus, statusText(s, a.status))
	if a.ocsp {
		handshake.Status(s, "", a.answer, false)
		a.ocsp, a.answer = false, nil
	}
}

// impatient notes that the latest request is asked again before its answer began, a
// second or more after it was sent: who pipelines does not ask for one thing twice.
func (a *analyzer) impatient(next *request) {
	if len(a.pending) == 0 {
		return
	}
	r := &a.pending[len(a.pending)-1]
	waited := next.wire[flow.ToServer].start - r.wire[flow.ToServer].end
	r.again = waited >= unanswered && r.whole && !r.gap && r.wire[flow.ToClient].first == 0 && r.q.Seen &&
		r.q.Method == next.q.Method && r.q.Target == next.q.Target && r.q.Host == next.q.Host
}

// attempted publishes the oldest request, if it is the first, failed, or comes after
// one that did.
func (a *analyzer) attempted(s *proto.Scope, why proto.End) {
	r := &a.pending[0]
	fate := web.Fate{Unanswered: r.unanswered || r.again, Apart: r.again, Status: r.status, Answered: r.wire[flow.ToClient].start, Why: why}
	failed := fate.Failed()
	if w := &r.wire[flow.ToServer]; r.q.Seen && w.first != 0 && (!a.given || failed || a.repeats > 0) {
		web.Attempted(s, &r.q, w.start, w.end, w.first, fate)
	}
	a.given, r.told = true, true
	if a.repeats = max(a.repeats-1, 0); failed {
		a.repeats = web.Repeats
	}
}

// give hands over the exchange of the oldest request and forgets it.
func (a *analyzer) give(s *proto.Scope, complete bool) {
	r := &a.pending[0]
	if !r.told {
		a.attempted(s, proto.Over)
	}
	if q, w := &r.wire[flow.ToServer], &r.wire[flow.ToClient]; q.first != 0 {
		s.Exchange(&conn.Exchange{
			Protocol: name, Label: r.label, Code: r.code, Failed: r.failed, Complete: complete && !r.gap,
			ReqStart: q.start, ReqEnd: q.end, ReqFrame: q.first, ReqLast: q.last, ReqBytes: q.bytes,
			RespStart: w.start, RespEnd: w.end, RespFrame: w.first, RespLast: w.last, RespBytes: w.bytes,
		})
	}
	a.forget()
}

// abandon gives up the message of a direction, whose rest cannot be read.
func (a *analyzer) abandon(s *proto.Scope, dir flow.Dir) {
	a.half[dir].drop(s)
	a.half[dir] = half{phase: lost, follow: follow{sync: alone}}
	if dir == flow.ToServer {
		if len(a.pending) > 0 {
			r := &a.pending[len(a.pending)-1]
			r.gap, r.whole = r.gap || !r.whole, true
		}
		return
	}
	if a.status != 0 {
		a.give(s, false)
		a.status = 0
	}
}

// Gap implements proto.Analyzer.
func (a *analyzer) Gap(s *proto.Scope, dir flow.Dir, n int) error {
	h := &a.half[dir]
	if h.sync == waiting {
		h.sync = alone
	}
	switch {
	case h.phase == inBody && int64(n) <= h.left:
		h.left -= int64(n)
		a.count(s, dir, size(n))
		a.mark(dir)
		if h.left == 0 {
			a.complete(s, dir)
		}
	case h.phase == inChunk && int64(n) < h.left:
		if h.left -= int64(n); h.sync == synced {
			h.sync = alone // tshark has waited for the next segment, and waits no more
		}
		a.count(s, dir, size(n))
		a.mark(dir)
	case h.phase == untilClose:
		a.mark(dir)
	case h.phase == lost:
	default:
		a.abandon(s, dir)
	}
	return nil
}

// mark notes that bytes of the message at hand are missing in the capture.
func (a *analyzer) mark(dir flow.Dir) {
	if dir == flow.ToClient {
		a.holes = true
	}
	if len(a.pending) == 0 {
		return
	}
	if dir == flow.ToServer {
		a.pending[len(a.pending)-1].gap = true
	} else {
		a.pending[0].gap = true
	}
}

// End implements proto.Analyzer.
func (a *analyzer) End(s *proto.Scope, why proto.End) {
	now := max(a.last, s.Now())
	over := why == proto.Closed || why == proto.Reset
	if a.status != 0 && len(a.pending) > 0 {
		a.endBody(s, why, over)
	}
	// Who asks again without an answer to the first: one direction was captured.
	oneSided := !a.heard && len(a.pending) > 1
	for len(a.pending) > 0 {
		r := &a.pending[0]
		w := &r.wire[flow.ToServer]
		r.again = r.again && !oneSided
		waited := max(now-w.end, 0)
		if !oneSided && r.whole && !r.gap && w.first != 0 && (over || waited >= unanswered) && a.half[flow.ToClient].phase != lost {
			web.Unanswered(s, &r.q, w.end, w.last, waited, why == proto.Reset)
			r.failed, r.unanswered = true, true
		}
		a.attempted(s, why)
		a.give(s, false)
	}
	for dir := range a.half {
		a.half[dir].drop(s)
	}
}

// endBody ends the response at hand: the end of the connection is that of a
// body without length, and cuts any other.
func (a *analyzer) endBody(s *proto.Scope, why proto.End, over bool) {
	h := &a.half[flow.ToClient]
	r := &a.pending[0]
	cut := h.phase == inBody || h.phase == inChunk || h.phase == atChunkSize || h.phase == atTrailer
	if cut && over && !r.gap {
		missing := int64(0)
		if h.phase == inBody {
			missing = h.left
		}
		s.Report(web.CutResponse, finding.Text(r.q.Method), finding.Text(r.q.Target), finding.Text(r.q.Host),
			finding.Num(a.status), finding.Num(missing))
		r.failed = true
	}
	if h.phase == untilClose && h.fin && !h.muted {
		a.countStatus(s)
		if !a.holes {
			s.Carries(name)
			h.carries(s)
		}
	}
	a.give(s, h.phase == untilClose && why == proto.Closed)
	a.status = 0
}
