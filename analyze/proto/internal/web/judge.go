package web

import (
	"bytes"
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Thresholds, ns. Reasons stand in the Docs of the codes.
const (
	Millisecond = 1_000_000
	Second      = 1000 * Millisecond
	slow        = Second
)

// Bounds of what is kept of a request.
const (
	MaxTarget = 256
	MaxHost   = 255
	MaxURL    = 1024
)

// Request is what is known of a request; texts are hostile.
type Request struct {
	Method, Target, Host string
	TLS                  bool   // scheme https
	Auth                 bool   // it has credentials
	AuthScheme           string // of them
	Seen                 bool   // false: not captured
}

// Response is what a judgement needs of a response; slices are valid during the
// call.
type Response struct {
	Status    int
	Wait      int64 // end of the request to first byte, ns; 0: not known
	Challenge []byte
	Location  []byte
}

// Redirect is published for each redirection (301, 302, 303, 307, 308 with a
// Location). URLs are as far as the request tells them; hostile.
type Redirect struct {
	Client, Server netip.AddrPort
	Status         int
	From, To       string // absolute URLs
}

// Judge says what the status and the time of a response mean by themselves, and
// reports whether the request failed.
func Judge(s *proto.Scope, q *Request, r *Response) (failed bool) {
	status, ttfb := finding.Num(r.Status), finding.Num(float64(r.Wait)/Millisecond)
	method, target, host := finding.Text(q.Method), finding.Text(q.Target), finding.Text(q.Host)
	if r.Wait >= slow {
		s.Report(SlowResponse, ttfb, status, method, target, host)
	}
	switch {
	case r.Status >= 500:
		s.Report(ServerError, status, method, target, host, ttfb)
	case r.Status == 401 || r.Status == 407 || r.Status == 403:
		if midLogin(r.Challenge) {
			return false
		}
		name := q.AuthScheme
		if name == "" {
			name = Scheme(r.Challenge)
		}
		s.Report(AuthRejected, status, method, target, host, Bit(q.Auth), Bit(!q.Auth), finding.Text(name))
		return q.Auth || r.Status == 403
	case r.Status >= 400:
		s.Report(ClientError, status, method, target, host, ttfb)
	case len(r.Location) > 0 && redirects(r.Status) && q.Seen:
		from := absolute("", q, q.Target)
		s.Publish(&Redirect{
			Client: s.Client(), Server: s.Server(), Status: r.Status,
			From: from, To: absolute(from, q, string(r.Location[:min(len(r.Location), MaxURL)])),
		})
	}
	return r.Status >= 400
}

// Unanswered reports a request without a response, at the request's own frame.
func Unanswered(s *proto.Scope, q *Request, at int64, frame uint64, waited int64, reset bool) {
	t := *s
	t.At, t.FrameNo = at, frame
	t.Report(NoResponse, finding.Text(q.Method), finding.Text(q.Target), finding.Text(q.Host),
		finding.Num(float64(waited)/Second), Bit(reset), finding.Num(1))
}

// Scheme is the first word of credentials or a challenge.
func Scheme(v []byte) string {
	name, _, _ := bytes.Cut(v, []byte{' '})
	return string(name[:min(len(name), 32)])
}

// midLogin reports whether a 401 or 407 is a step of a login: the challenge
// carries a token (NTLM, Negotiate; RFC 4559, 4) or a fresh nonce (RFC 7616, 3.3).
func midLogin(challenge []byte) bool {
	name, token, _ := bytes.Cut(challenge, []byte{' '})
	switch {
	case bytes.EqualFold(name, []byte("ntlm")), bytes.EqualFold(name, []byte("negotiate")):
		return len(token) > 0
	case bytes.EqualFold(name, []byte("digest")):
		return bytes.Contains(bytes.ToLower(token), []byte("stale=true"))
	}
	return false
}

func redirects(status int) bool {
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308
}

// absolute writes a reference as an absolute URL, as far as a loop can be told
// by it: paths are joined, dots are not resolved.
func absolute(base string, q *Request, ref string) string {
	scheme := "http:"
	if q.TLS {
		scheme = "https:"
	}
	switch {
	case hasScheme(ref):
		return ref
	case len(ref) > 1 && ref[0] == '/' && ref[1] == '/':
		return scheme + ref
	case len(ref) > 0 && ref[0] == '/' || base == "":
		return scheme + "//" + q.Host + ref
	}
	cut := len(base)
	for i := range len(base) {
		if base[i] == '?' || base[i] == '#' {
			cut = i
			break
		}
	}
	if len(ref) == 0 || ref[0] != '?' {
		for cut > 0 && base[cut-1] != '/' {
			cut--
		}
	}
	return base[:cut] + ref
}

func hasScheme(ref string) bool {
	for i := range len(ref) {
		switch c := ref[i]; {
		case c == ':':
			return i > 0 && len(ref) > i+2 && ref[i+1] == '/' && ref[i+2] == '/'
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		default:
			return false
		}
	}
	return false
}

// Bit is a truth as a metric.
func Bit(b bool) finding.Value {
	if b {
		return finding.Num(1)
	}
	return finding.Num(0)
}
