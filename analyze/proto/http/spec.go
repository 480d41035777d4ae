package http

import (
	"bytes"
	"slices"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
	"netwhy/analyze/proto/internal/web"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "HTTP/1.0 and 1.1 (RFC 9110, 9112)",
		Carrier: proto.TCP, Anywhere: true, Taken: assigned.HTTP.Taken,
		Ports:   ports(),
		First:   func(_ flow.Dir, c byte) bool { return c == '\r' || c == '\n' || c >= 'A' && c <= 'U' },
		Probe:   probe,
		New:     func() proto.Analyzer { return &analyzer{} },
		Also:    web.MediaNames(),
		Counts:  true,
		Again:   again,
		Message: message,
		Codes:   web.Defs(),
	}
}

// Midway declares the same for connections that are in the middle of a response
// when the capture begins: at the ports of HTTP, bytes of a server that are no
// greeting are a body, and what follows it can be read. Codes are declared by Spec.
func Midway() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "HTTP/1.1 from the middle of a response on",
		Carrier: proto.TCP, Ports: ports(), Weak: true, Counts: true, Anywhere: true, Taken: assigned.HTTP.Taken,
		Probe: probeMidway,
		New: func() proto.Analyzer {
			return &analyzer{half: [2]half{{phase: lost, follow: follow{sync: alone}}, {phase: lost, follow: follow{sync: alone}}}}
		},
	}
}

func ports() []uint16 {
	return []uint16{80, 3128, 3132, 5985, 8000, 8008, 8080, 8088, 8888, 11371}
}

// probeMidway leaves greetings, which are short texts, and records of TLS to others.
func probeMidway(dir flow.Dir, b []byte) proto.Verdict {
	const enough, firstRecord, lastRecord, beyond = 64, 20, 24, 0x7f
	if dir == flow.ToServer || len(b) < enough || b[0] >= firstRecord && b[0] <= lastRecord && b[1] == 3 {
		return proto.No
	}
	const longest = 512 // of a greeting (RFC 5321, 4.5.3.1.5)
	if len(b) >= longest {
		return proto.Likely
	}
	for _, c := range b[:enough] {
		if c < ' ' && c != '\r' && c != '\n' && c != '\t' || c >= beyond {
			return proto.Likely
		}
	}
	if bytes.HasSuffix(b, []byte{'\n'}) {
		return proto.No
	}
	return proto.NeedMore // no greeting, or not all of one
}

// name is the protocol as Wireshark and the report call it.
const name = "http"

// Methods that change how long a response is (RFC 9112, 6.3).
const (
	methodConnect = "CONNECT"
	methodHead    = "HEAD"
)

// methods are those of RFC 9110, 5789 and WebDAV (RFC 4918, 3253, 3744, 5323),
// and what is in use without one.
func methods() []string {
	return []string{
		"GET", "POST", methodHead, "PUT", "DELETE", "OPTIONS", methodConnect, "PATCH", "TRACE",
		"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "REPORT", "SEARCH",
		"MKCALENDAR", "ACL", "CHECKOUT", "CHECKIN", "MERGE", "SUBSCRIBE", "UNSUBSCRIBE", "NOTIFY",
		"M-SEARCH", "PURGE", "RPC_IN_DATA", "RPC_OUT_DATA", "BITS_POST", "CCM_POST", "SSTP_DUPLEX_POST",
	}
}

const (
	longestMethod = 16
	versionPrefix = "HTTP/1."
)

// isMethod reports whether b is a known method. The list is copied when it is asked
// for: the most frequent ones, and what can be none, come before that.
func isMethod(b []byte) bool {
	switch string(b) {
	case "GET", "POST", methodHead:
		return true
	}
	return len(b) <= longestMethod && len(b) > 0 && b[0] >= 'A' && b[0] <= 'U' && slices.Contains(methods(), string(b))
}

// probe is certain of a version in the first line.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	b = bytes.TrimLeft(b, "\r\n")
	if len(b) == 0 {
		return proto.NeedMore
	}
	if n := min(len(b), len(versionPrefix)); string(b[:n]) == versionPrefix[:n] {
		if n < len(versionPrefix) {
			return proto.NeedMore
		}
		return proto.Certain
	}
	method, _, found := bytes.Cut(b[:min(len(b), longestMethod+1)], []byte{' '})
	if i := bytes.IndexAny(b[:min(len(b), longestMethod+1)], "\r\n"); i >= 0 && isMethod(b[:i]) {
		return proto.Likely // a method and nothing more
	}
	if !found {
		if len(b) > longestMethod || !startsMethod(b) {
			return proto.No
		}
		return proto.NeedMore
	}
	if !isMethod(method) {
		return proto.No
	}
	line, _, whole := bytes.Cut(b, []byte{'\n'})
	if bytes.Contains(line, []byte(" "+versionPrefix)) {
		return proto.Certain
	}
	if whole && bytes.Contains(line, []byte("/2.0")) { // SIP, RTSP and HTTP/2 share methods
		return proto.No
	}
	return proto.Likely
}

func startsMethod(b []byte) bool {
	if b[0] < 'A' || b[0] > 'U' {
		return false
	}
	for _, m := range methods() {
		if len(b) <= len(m) && m[:len(b)] == string(b) {
			return true
		}
	}
	return false
}
