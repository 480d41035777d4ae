package web

import (
	"strconv"

	"netwhy/analyze/proto"
)

// maxMethod bounds a method: the registered ones are shorter (RFC 9110, 16.1.1).
const maxMethod = 16

// Fields are those header fields that matter in every version with compressed
// headers (RFC 9113, 8.3; RFC 9114, 4.3); hostile.
type Fields struct {
	Method, Path, Authority string
	Status                  int
	Auth, Challenge         string
	Location                string
	Agent, Server           string
}

// Take keeps a field, within bounds, if it matters.
func (f *Fields) Take(name, value string) {
	v := value[:min(len(value), MaxURL)]
	switch name {
	case ":method":
		f.Method = v[:min(len(v), maxMethod)]
	case ":path":
		f.Path = v[:min(len(v), MaxTarget)]
	case ":authority", "host":
		f.Authority = v[:min(len(v), MaxHost)]
	case ":status":
		f.Status, _ = strconv.Atoi(v) // no number: 0, no status
	case "authorization", "proxy-authorization":
		f.Auth = v
	case "www-authenticate", "proxy-authenticate":
		f.Challenge = v
	case "location":
		f.Location = v
	case "user-agent":
		f.Agent = v
	case "server":
		f.Server = v
	}
}

// Request is the request that the fields make, with what they tell of its
// conversation.
func (f *Fields) Request(s *proto.Scope, tls bool) Request {
	if f.Authority != "" {
		s.Name(f.Authority)
	}
	if f.Agent != "" {
		s.Attr("http.user_agent", f.Agent)
	}
	return Request{
		Method: f.Method, Target: f.Path, Host: f.Authority, TLS: tls,
		Auth: f.Auth != "", AuthScheme: Scheme([]byte(f.Auth)), Seen: f.Method != "",
	}
}

// Response is the response that the fields make, after a wait in ns.
func (f *Fields) Response(wait int64) *Response {
	return &Response{Status: f.Status, Wait: wait, Challenge: []byte(f.Challenge), Location: []byte(f.Location)}
}
