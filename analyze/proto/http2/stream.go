package http2

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/web"
)

// stream is one request and its response.
type stream struct {
	x          conn.Exchange
	q          web.Request
	first      bool // among the first ones of the connection
	grpc       bool
	grpcStatus int // -1: not told
	message    string
	status     int
	ended      [2]bool
	window     [2]int64 // left for what a direction sends
	dry        [2]int64 // since when it is used up; 0: it is not
}

// fields are those header fields that matter: gRPC's besides those of every version.
type fields struct {
	web.Fields
	scheme                  string
	contentType             string
	grpcStatus, grpcMessage string
}

func (f *fields) take(h hpack.HeaderField) {
	v := h.Value[:min(len(h.Value), web.MaxURL)]
	switch h.Name {
	case ":scheme":
		f.scheme = v
	case "content-type":
		f.contentType = v
	case "grpc-status":
		f.grpcStatus = v
	case "grpc-message":
		f.grpcMessage = v
	default:
		f.Take(h.Name, h.Value)
	}
}

// headers takes a header block: request, response or trailers.
func (a *analyzer) headers(s *proto.Scope, dir flow.Dir, f header, fs *fields) {
	st := a.streams[f.stream]
	if st == nil {
		if len(a.streams) >= maxStreams || f.stream == 0 {
			return
		}
		st = a.openStream(s, dir, f, fs)
	}
	if fs.contentType != "" && !st.grpc && strings.HasPrefix(fs.contentType, "application/grpc") {
		st.grpc = true
		st.x.Protocol = "grpc"
		if !a.grpc {
			a.grpc = true
			s.Attr("http2.grpc", "yes")
		}
	}
	if st.grpc {
		s.Carries("grpc")
	}
	st.bytes(dir, frameHeader+f.length, s.Now(), s.Frame())
	if dir == flow.ToServer {
		return
	}
	if fs.grpcStatus != "" {
		if n, err := strconv.Atoi(fs.grpcStatus); err == nil {
			st.grpcStatus, st.message = n, fs.grpcMessage[:min(len(fs.grpcMessage), web.MaxTarget)]
		}
	}
	if fs.Status >= 100 && fs.Status < 200 || fs.Status == 0 || st.status != 0 {
		return // informational, unreadable, or trailers
	}
	st.status = fs.Status
	st.x.Code = strconv.Itoa(fs.Status)
	if fs.Server != "" {
		s.Attr("http.server", fs.Server)
	}
	wait := int64(0)
	if st.q.Seen && st.ended[flow.ToServer] {
		wait = max(st.x.RespStart-st.x.ReqEnd, 0)
	}
	st.x.Failed = web.Judge(s, &st.q, fs.Response(wait))
}

func (a *analyzer) openStream(s *proto.Scope, dir flow.Dir, f header, fs *fields) *stream {
	st := &stream{grpcStatus: -1, window: [2]int64{a.half[0].initial, a.half[1].initial}}
	st.x.Protocol = "http2"
	if dir == flow.ToServer {
		at, frame := s.Began()
		st.x.ReqStart, st.x.ReqFrame = at, frame
		st.q = fs.Request(s, fs.scheme == "https")
		if st.first = a.asked < web.FirstStreams; st.first {
			a.asked++
		}
	}
	st.x.Label = strings.TrimSpace(st.q.Method + " " + st.q.Target)
	if st.x.Label == "" {
		st.x.Label = "stream " + strconv.FormatUint(uint64(f.stream), 10)
	}
	a.streams[f.stream] = st
	return st
}

// bytes counts bytes of a stream and moves its times.
func (st *stream) bytes(dir flow.Dir, length int, at int64, frame uint64) {
	n := uint64(length) //nolint:gosec // a length is never negative
	if dir == flow.ToServer {
		if st.x.ReqFrame == 0 {
			st.x.ReqStart, st.x.ReqFrame = at, frame
		}
		st.x.ReqEnd, st.x.ReqLast = at, frame
		st.x.ReqBytes += n
		return
	}
	if st.x.RespFrame == 0 {
		st.x.RespStart, st.x.RespFrame = at, frame
	}
	st.x.RespEnd, st.x.RespLast = at, frame
	st.x.RespBytes += n
}

// endStream ends one direction of a stream; the server's end ends the exchange.
func (a *analyzer) endStream(s *proto.Scope, dir flow.Dir, id uint32) {
	st := a.streams[id]
	if st == nil {
		return
	}
	st.ended[dir] = true
	if dir == flow.ToClient {
		a.close(s, id, st, true, proto.Over)
	}
}

// close hands over the exchange of a stream; why is what ended it.
func (a *analyzer) close(s *proto.Scope, id uint32, st *stream, complete bool, why proto.End) {
	delete(a.streams, id)
	fate := web.Fate{Unanswered: st.lost(&a.half[flow.ToClient]), Apart: true, Status: st.status, Answered: st.x.RespStart, Why: why}
	if failed := fate.Failed(); st.q.Seen && (failed || st.first) {
		web.Attempted(s, &st.q, st.x.ReqStart, st.x.ReqEnd, st.x.ReqFrame, fate)
		if failed {
			a.asked = min(a.asked, web.FirstStreams-web.Repeats)
		}
	}
	if st.grpcStatus >= 0 {
		st.x.Code = "grpc " + grpcName(st.grpcStatus)
	}
	if st.grpcStatus > 0 {
		st.x.Failed = true
		s.Report(GRPCError, finding.Num(st.grpcStatus), finding.Text(grpcName(st.grpcStatus)),
			finding.Text(st.q.Target), finding.Text(st.message), finding.Num(1))
	}
	st.x.Complete = complete
	if st.x.ReqFrame != 0 {
		s.Exchange(&st.x)
	}
}

// lost reports whether a whole request has no answer, as far as what the server
// sends can be read.
func (st *stream) lost(server *half) bool {
	return st.ended[flow.ToServer] && st.x.RespFrame == 0 && !server.blind
}

// spend takes a DATA frame off the windows and notes when one is used up.
func (a *analyzer) spend(s *proto.Scope, dir flow.Dir, f header) {
	h := &a.half[dir]
	h.window -= int64(f.length)
	if h.window <= 0 && h.dry == 0 {
		h.dry = s.Now()
	}
	if st := a.streams[f.stream]; st != nil {
		st.window[dir] -= int64(f.length)
		if st.window[dir] <= 0 && st.dry[dir] == 0 {
			st.dry[dir] = s.Now()
		}
	}
}

// windowUpdate opens a window of what the other side sends.
func (a *analyzer) windowUpdate(s *proto.Scope, dir flow.Dir, id uint32, n int64) {
	sender := dir.Reverse()
	h := &a.half[sender]
	since, target := int64(0), ""
	if id == 0 {
		h.window += n
		if h.dry != 0 && h.window > 0 {
			since, h.dry = h.dry, 0
		}
	} else if st := a.streams[id]; st != nil {
		target = st.q.Target
		st.window[sender] += n
		if st.dry[sender] != 0 && st.window[sender] > 0 {
			since, st.dry[sender] = st.dry[sender], 0
		}
	}
	if since != 0 && s.Now()-since >= windowStall && !h.blind {
		s.Report(NoWindow, finding.Text(target), finding.Num(float64(s.Now()-since)/web.Second), web.Bit(dir == flow.ToClient))
	}
}
