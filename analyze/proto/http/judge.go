package http

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Redirect is published for each redirection (301, 302, 303, 307, 308 with a
// Location). URLs are as far as the request tells them; hostile.
type Redirect struct {
	Client, Server netip.AddrPort
	Status         int
	From, To       string // absolute URLs
}

// judge says what the status and the time of a response mean by themselves.
func judge(s *proto.Scope, r *request, h *head) {
	wait := int64(0)
	if r.x.ReqFrame != 0 && !r.gap && r.whole {
		wait = max(r.x.RespStart-r.x.ReqEnd, 0)
	}
	status, ttfb := finding.Num(h.status), finding.Num(float64(wait)/ms)
	method, target, host := finding.Text(r.method), finding.Text(r.target), finding.Text(r.host)
	if wait >= slow {
		s.Report(SlowResponse, ttfb, status, method, target, host)
	}
	r.x.Failed = h.status >= 400
	switch {
	case h.status >= 500:
		s.Report(ServerError, status, method, target, host, ttfb)
	case h.status == 401 || h.status == 407 || h.status == 403:
		if midLogin(h.challenge) {
			r.x.Failed = false
			break
		}
		name := r.scheme
		if name == "" {
			name = scheme(h.challenge)
		}
		r.x.Failed = r.auth || h.status == 403
		s.Report(AuthRejected, status, method, target, host, bit(r.auth), bit(!r.auth), finding.Text(name))
	case h.status >= 400:
		s.Report(ClientError, status, method, target, host, ttfb)
	case len(h.location) > 0 && redirects(h.status) && r.x.ReqFrame != 0:
		from := absolute("", r.host, r.target)
		s.Publish(&Redirect{
			Client: s.Client(), Server: s.Server(), Status: h.status,
			From: from, To: absolute(from, r.host, clip(h.location, maxURL)),
		})
	}
}

func redirects(status int) bool {
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308
}

// absolute writes a reference as an absolute URL, as far as a loop can be told
// by it: paths are joined, dots are not resolved.
func absolute(base, host, ref string) string {
	switch {
	case hasScheme(ref):
		return ref
	case len(ref) > 1 && ref[0] == '/' && ref[1] == '/':
		return "http:" + ref
	case len(ref) > 0 && ref[0] == '/' || base == "":
		return "http://" + host + ref
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
