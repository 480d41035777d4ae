package quic

import (
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
)

// Bounds of what is kept of HTTP/3 (RFC 9114).
const (
	maxExchanges = 256
	maxFinished  = 1024
	maxUnis      = 16
	maxHeaders   = 16 << 10 // of the beginning of a stream; servers take 8 to 16 KiB
	maxEncoder   = 64 << 10
)

// http3 reads the streams of a connection: each that a client opened in both
// directions is a request and its response.
type http3 struct {
	foreign   bool // the streams are those of another protocol
	early     bool // a 0-RTT packet is read: nobody has agreed on HTTP/3 yet, and tshark counts none
	sure      bool // a control stream or a header was read
	exchanges map[uint64]*exchange
	asked     int                 // requests that are among the first of the connection
	finished  map[uint64]struct{} // streams that are over: what comes of them was sent again
	unis      [2]map[uint64]*uni  // by who sends
	tables    [2]*table           // what an encoder said, by sender
}

// exchange is one request and its response.
type exchange struct {
	x      conn.Exchange
	q      web.Request
	first  bool // among the first ones of the connection
	status int
	half   [2]messageHalf
}

// messageHalf is one direction of a stream.
type messageHalf struct {
	parts pieces
	read  bool // the header is behind
	ended bool
	bytes uint64
}

// uni is a stream in one direction; its first number says what it is (RFC 9114, 6.2).
type uni struct {
	parts pieces
	typed bool
	done  bool // nothing more of it is wanted
	typ   uint64
}

const (
	typeControl = 0
	typeEncoder = 2
)

func newHTTP3() *http3 {
	return &http3{
		exchanges: map[uint64]*exchange{},
		finished:  map[uint64]struct{}{},
		unis:      [2]map[uint64]*uni{{}, {}},
		tables:    [2]*table{{}, {}},
	}
}

func direction(from int) flow.Dir {
	if from == 1 {
		return flow.ToClient
	}
	return flow.ToServer
}

// data takes a piece of a stream.
func (h *http3) data(s *proto.Scope, from int, id, off uint64, b []byte, fin bool) {
	const oneWay, byServer = 2, 1
	switch {
	case h.foreign:
	case id&oneWay != 0:
		h.single(s, from, id, off, b)
	case id&byServer == 0:
		h.both(s, from, id, off, b, fin)
	}
	if h.sure {
		s.App("http3")
		if !h.early {
			s.Carries("http3")
		}
	}
}

// single takes a piece of a stream in one direction: only what the encoder of
// headers says is needed.
func (h *http3) single(s *proto.Scope, from int, id, off uint64, b []byte) {
	u := h.unis[from][id]
	if u == nil {
		if len(h.unis[from]) >= maxUnis {
			return
		}
		u = &uni{}
		h.unis[from][id] = u
	}
	if u.done {
		return
	}
	u.parts.add(off, b, maxEncoder)
	if !u.typed {
		v, w := varint(u.parts.ready)
		if w == 0 {
			return
		}
		u.typed, u.typ = true, v
		u.parts.use(w)
	}
	switch u.typ {
	case typeControl:
		h.sure = true
		u.done = h.settings(from, u.parts.ready)
	case typeEncoder:
		if u.done = !h.tables[from].instructions(&u.parts); u.done {
			s.Malformed("QPACK encoder stream broken")
		}
	default:
		u.done = true
	}
	if u.done {
		u.parts = pieces{}
	}
}

// settings reads the first frame of a control stream (RFC 9114, 7.2.4): how large
// the other side's table may be. false: it is not whole.
func (h *http3) settings(from int, b []byte) bool {
	const typeSettings, tableCapacity = 4, 1
	r := reader{b: b}
	typ := r.varint()
	b = r.bytes(r.varint())
	if r.bad {
		return false
	}
	if typ != typeSettings {
		return true
	}
	for r = (reader{b: b}); len(r.b) > 0 && !r.bad; {
		if id, v := r.varint(), r.varint(); id == tableCapacity {
			h.tables[1-from].most = v
		}
	}
	return true
}

// both takes a piece of a request or response.
func (h *http3) both(s *proto.Scope, from int, id, off uint64, b []byte, fin bool) {
	e := h.exchanges[id]
	if e == nil {
		if _, over := h.finished[id]; over || len(h.exchanges) >= maxExchanges {
			return
		}
		e = &exchange{}
		e.x.Protocol = "http3"
		e.x.Label = "stream " + strconv.FormatUint(id, 10)
		h.exchanges[id] = e
	}
	e.time(s, from)
	m := &e.half[from]
	m.bytes += uint64(len(b))
	if !m.read {
		m.parts.add(off, b, maxHeaders)
		for !m.read && h.header(s, from, e, m) {
		}
		if len(m.parts.ready) >= maxHeaders {
			m.read = true // longer than anybody takes: its end is all that is still wanted
		}
		if m.read {
			m.parts = pieces{}
		}
	}
	m.ended = m.ended || fin
	if from == 1 && m.ended {
		h.close(s, id, e, true, proto.Over)
	}
}

// time moves the times and sizes of an exchange.
func (e *exchange) time(s *proto.Scope, from int) {
	at, frame := s.Now(), s.Frame()
	if from == 0 {
		if e.x.ReqFrame == 0 {
			e.x.ReqStart, e.x.ReqFrame = at, frame
		}
		if e.x.RespFrame == 0 { // what is sent again later does not move it
			e.x.ReqEnd, e.x.ReqLast = at, frame
		}
		return
	}
	if e.x.RespFrame == 0 {
		e.x.RespStart, e.x.RespFrame = at, frame
	}
	e.x.RespEnd, e.x.RespLast = at, frame
}

// header reads one frame (RFC 9114, 7.1) at the beginning of a stream; false:
// more bytes are needed, or nothing more is.
func (h *http3) header(s *proto.Scope, from int, e *exchange, m *messageHalf) bool {
	const typeData, typeHeaders = 0, 1
	b := m.parts.ready
	typ, w := varint(b)
	if w == 0 {
		return false
	}
	n, v := varint(b[w:])
	if v == 0 {
		return false
	}
	head := w + v
	if typ == typeData {
		m.read = true
		return false
	}
	if n > maxHeaders {
		m.read = true
		return false
	}
	if len(b)-head < int(n) {
		return false
	}
	if typ == typeHeaders {
		h.sure = true
		fs, ok := h.tables[from].section(b[head : head+int(n)])
		if !ok {
			s.Malformed("QPACK header broken")
		}
		if from == 0 {
			e.request(s, &fs)
			if e.first = h.asked < web.FirstStreams; e.first {
				h.asked++
			}
			m.read = true
		} else if fs.Status >= 200 || fs.Status == 0 {
			e.response(s, &fs)
			m.read = true
		}
	}
	m.parts.use(head + int(n))
	return true
}

func (e *exchange) request(s *proto.Scope, fs *web.Fields) {
	e.q = fs.Request(s, true)
	if label := strings.TrimSpace(fs.Method + " " + fs.Path); label != "" {
		e.x.Label = label
	}
}

func (e *exchange) response(s *proto.Scope, fs *web.Fields) {
	if fs.Server != "" {
		s.Attr("http.server", fs.Server)
	}
	if fs.Status == 0 {
		return // not readable: an entry of the table was lost
	}
	e.status = fs.Status
	e.x.Code = strconv.Itoa(fs.Status)
	wait := int64(0)
	if e.q.Seen && e.half[0].ended {
		wait = max(e.x.RespStart-e.x.ReqEnd, 0)
	}
	e.x.Failed = web.Judge(s, &e.q, fs.Response(wait))
}

// reset ends a stream by RESET_STREAM.
func (h *http3) reset(s *proto.Scope, from int, id, code uint64) {
	e := h.exchanges[id]
	if e == nil || from != 1 {
		return
	}
	if e.x.Code == "" {
		e.x.Code = applicationName(code)
	}
	e.x.Failed = e.x.Failed || !benign(code)
	h.close(s, id, e, false, proto.Reset)
}

// lost reports whether a whole request has no answer.
func (e *exchange) lost() bool { return e.half[0].ended && e.x.RespFrame == 0 }

// close hands over an exchange; why is what ended it.
func (h *http3) close(s *proto.Scope, id uint64, e *exchange, complete bool, why proto.End) {
	fate := web.Fate{Unanswered: e.lost(), Apart: true, Status: e.status, Answered: e.x.RespStart, Why: why}
	if failed := fate.Failed(); e.q.Seen && (failed || e.first) {
		web.Attempted(s, &e.q, e.x.ReqStart, e.x.ReqEnd, e.x.ReqFrame, fate)
		if failed {
			h.asked = min(h.asked, web.FirstStreams-web.Repeats)
		}
	}
	delete(h.exchanges, id)
	if len(h.finished) >= maxFinished {
		clear(h.finished) // whatever comes again comes soon
	}
	h.finished[id] = struct{}{}
	e.x.ReqBytes, e.x.RespBytes = e.half[0].bytes, e.half[1].bytes
	e.x.Complete = complete
	if e.x.ReqFrame != 0 && h.sure {
		s.Exchange(&e.x)
	}
}

// end tells which requests have no answer.
func (h *http3) end(s *proto.Scope, last int64, over bool) {
	why := proto.Idle
	if over {
		why = proto.Closed
	}
	ids := make([]uint64, 0, len(h.exchanges))
	for id := range h.exchanges {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		e := h.exchanges[id]
		waited := max(last-e.x.ReqEnd, 0)
		if e.q.Seen && e.lost() && (over || waited >= web.Second) {
			web.Unanswered(s, &e.q, e.x.ReqEnd, e.x.ReqLast, waited, false)
			e.x.Failed = true
		}
		h.close(s, id, e, false, why)
	}
}

// benign reports whether an error code of HTTP/3 says that all is well: the work
// is done, or the client wants the answer no more (RFC 9114, 8.1).
func benign(code uint64) bool {
	const noError, cancelled = 0x100, 0x10c
	return code == 0 || code == noError || code == cancelled
}

// applicationName writes an error code of HTTP/3 (RFC 9114, 8.1; RFC 9204, 6).
func applicationName(code uint64) string {
	name := nth(code, 0x100,
		"H3_NO_ERROR", "H3_GENERAL_PROTOCOL_ERROR", "H3_INTERNAL_ERROR", "H3_STREAM_CREATION_ERROR", "H3_CLOSED_CRITICAL_STREAM",
		"H3_FRAME_UNEXPECTED", "H3_FRAME_ERROR", "H3_EXCESSIVE_LOAD", "H3_ID_ERROR", "H3_SETTINGS_ERROR", "H3_MISSING_SETTINGS",
		"H3_REQUEST_REJECTED", "H3_REQUEST_CANCELLED", "H3_REQUEST_INCOMPLETE", "H3_MESSAGE_ERROR", "H3_CONNECT_ERROR", "H3_VERSION_FALLBACK")
	if name == "" {
		name = nth(code, 0x200, "QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR")
	}
	if name == "" {
		name = "0x" + strconv.FormatUint(code, 16)
	}
	return name
}
