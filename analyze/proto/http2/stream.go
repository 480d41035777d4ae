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
	grpc       bool
	grpcStatus int // -1: not told
	message    string
	status     int
	ended      [2]bool
	window     [2]int64 // left for what a direction sends
	dry        [2]int64 // since when it is used up; 0: it is not
}

// fields are those header fields that matter.
type fields struct {
	method, path, authority, scheme string
	status                          int
	contentType                     string
	grpcStatus                      string
	grpcMessage                     string
	auth, challenge                 string
	location                        string
	agent, server                   string
}

func (f *fields) take(h hpack.HeaderField) {
	const longest = web.MaxURL
	v := h.Value[:min(len(h.Value), longest)]
	switch h.Name {
	case ":method":
		f.method = v[:min(len(v), 16)]
	case ":path":
		f.path = v[:min(len(v), web.MaxTarget)]
	case ":authority", "host":
		f.authority = v[:min(len(v), web.MaxHost)]
	case ":scheme":
		f.scheme = v
	case ":status":
		f.status, _ = strconv.Atoi(v) // no number: 0, no status
	case "content-type":
		f.contentType = v
	case "grpc-status":
		f.grpcStatus = v
	case "grpc-message":
		f.grpcMessage = v
	case "authorization", "proxy-authorization":
		f.auth = v
	case "www-authenticate", "proxy-authenticate":
		f.challenge = v
	case "location":
		f.location = v
	case "user-agent":
		f.agent = v
	case "server":
		f.server = v
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
	if fs.status >= 100 && fs.status < 200 || fs.status == 0 || st.status != 0 {
		return // informational, unreadable, or trailers
	}
	st.status = fs.status
	st.x.Code = strconv.Itoa(fs.status)
	if fs.server != "" {
		s.Attr("http.server", fs.server)
	}
	wait := int64(0)
	if st.q.Seen && st.ended[flow.ToServer] {
		wait = max(st.x.RespStart-st.x.ReqEnd, 0)
	}
	st.x.Failed = web.Judge(s, &st.q, &web.Response{
		Status: fs.status, Wait: wait, Challenge: []byte(fs.challenge), Location: []byte(fs.location),
	})
}

func (a *analyzer) openStream(s *proto.Scope, dir flow.Dir, f header, fs *fields) *stream {
	st := &stream{grpcStatus: -1, window: [2]int64{a.half[0].initial, a.half[1].initial}}
	st.x.Protocol = "http2"
	if dir == flow.ToServer {
		at, frame := s.Began()
		st.x.ReqStart, st.x.ReqFrame = at, frame
		st.q = web.Request{
			Method: fs.method, Target: fs.path, Host: fs.authority, TLS: fs.scheme == "https",
			Auth: fs.auth != "", AuthScheme: web.Scheme([]byte(fs.auth)), Seen: fs.method != "",
		}
		if fs.authority != "" {
			s.Name(fs.authority)
		}
		if fs.agent != "" {
			s.Attr("http.user_agent", fs.agent)
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
		a.close(s, id, st, true)
	}
}

// close hands over the exchange of a stream.
func (a *analyzer) close(s *proto.Scope, id uint32, st *stream, complete bool) {
	delete(a.streams, id)
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
