package http

import (
	"bytes"
	"strconv"
)

// maxHead bounds a head: below proto.MaxBuffered; servers take 8 to 32 KiB.
const maxHead = 60 << 10

// head is the start line and those header fields that matter. Slices refer to
// the bytes parsed and are valid during the call only.
type head struct {
	size int // bytes, empty line included

	// request
	method, target []byte
	simple         bool // no version: nothing follows the line (HTTP/0.9, or broken)

	// response
	status int
	minor  byte

	host, location, agent, server, upgrade []byte
	kind                                   []byte // Content-Type
	auth, challenge                        []byte
	length                                 int64 // -1: not told
	chunked                                bool
	encoded, zipped                        bool // the body is compressed; by gzip
	closing, keeping                       bool // Connection: close, keep-alive
	expect                                 bool
	bad                                    bool // a field that cannot be
}

// parse reads the head of a message from b. ok is false when it is not whole; is
// false when b does not begin with one.
func (h *head) parse(b []byte, response bool) (ok, is bool) {
	h.length = -1
	line, next, found := cutLine(b, 0)
	if !found {
		if response {
			n := min(len(b), len(versionPrefix))
			return false, string(b[:n]) == versionPrefix[:n]
		}
		return false, probe(0, b) != 0
	}
	if response {
		if !h.statusLine(line) {
			return false, false
		}
	} else if !h.requestLine(line) {
		return false, false
	}
	if h.simple {
		h.size = next
		return true, true
	}
	for {
		line, n, found := cutLine(b, next)
		if !found {
			return false, true
		}
		next = n
		if len(line) == 0 {
			h.size = next
			return true, true
		}
		h.field(line)
	}
}

// begin reads a start line of which the end was not captured.
func (h *head) begin(b []byte, response bool) {
	switch _, _, found := cutLine(b, 0); {
	case found: // it was read
	case response:
		h.statusLine(b)
	default:
		h.requestLine(b)
	}
}

// cutLine returns the line at off without its end, and the offset behind it.
func cutLine(b []byte, off int) (line []byte, next int, ok bool) {
	n := bytes.IndexByte(b[off:], '\n')
	if n < 0 {
		return nil, off, false
	}
	line = b[off : off+n]
	if n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, off + n + 1, true
}

func (h *head) statusLine(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte(versionPrefix))
	if !ok || len(rest) < 5 || rest[1] != ' ' {
		return false
	}
	h.minor = rest[0]
	for _, c := range rest[2:5] {
		if c < '0' || c > '9' {
			return false
		}
		h.status = h.status*10 + int(c-'0')
	}
	return h.status >= 100
}

func (h *head) requestLine(line []byte) bool {
	method, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok && isMethod(line) { // and nothing more: to tshark too it is a request
		h.method = line
		return true
	}
	if !ok || len(method) == 0 || len(method) > longestMethod || !isMethod(method) {
		return false
	}
	h.method = method
	h.target = rest
	if i := bytes.LastIndexByte(rest, ' '); i >= 0 && bytes.HasPrefix(rest[i+1:], []byte("HTTP/")) {
		h.target = rest[:i]
		h.minor = rest[len(rest)-1]
		return true
	}
	h.simple = !bytes.Contains(rest, []byte("HTTP/"))
	return true
}

// field takes one header field (RFC 9110, 5.5). Unknown ones are passed over.
func (h *head) field(line []byte) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return
	}
	name := known(colon, line[0]|('a'-'A'))
	if name == "" || !equalFold(line[:colon], name) {
		return
	}
	value := line[colon+1:]
	switch name {
	case "host":
		h.host = bytes.TrimSpace(value)
	case "server":
		h.server = bytes.TrimSpace(value)
	case "expect":
		h.expect = equalFold(bytes.TrimSpace(value), "100-continue")
	case "upgrade":
		h.upgrade = bytes.TrimSpace(value)
	case "location":
		h.location = bytes.TrimSpace(value)
	case "connection":
		h.closing = h.closing || hasToken(value, "close")
		h.keeping = h.keeping || hasToken(value, "keep-alive")
	case "user-agent":
		h.agent = bytes.TrimSpace(value)
	case "content-type":
		h.kind = bytes.TrimSpace(value)
	case "authorization", "proxy-authorization":
		h.auth = bytes.TrimSpace(value)
	case "content-length":
		n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		if err != nil || n < 0 || h.length >= 0 && h.length != n {
			h.bad = true
			return
		}
		h.length = n
	case "content-encoding":
		coding := bytes.TrimSpace(value)
		h.encoded, h.zipped = !equalFold(coding, "identity"), equalFold(coding, "gzip")
	case "www-authenticate", "proxy-authenticate":
		if !hasToken68(h.challenge) {
			h.challenge = bytes.TrimSpace(value)
		}
	case "transfer-encoding":
		h.chunked = hasToken(value, "chunked")
	}
}

// known is the field that is read of those whose names have a length and a first
// letter; empty: there is none.
func known(length int, first byte) string {
	switch length<<8 | int(first) {
	case 4<<8 | 'h':
		return "host"
	case 6<<8 | 's':
		return "server"
	case 6<<8 | 'e':
		return "expect"
	case 7<<8 | 'u':
		return "upgrade"
	case 8<<8 | 'l':
		return "location"
	case 10<<8 | 'c':
		return "connection"
	case 10<<8 | 'u':
		return "user-agent"
	case 12<<8 | 'c':
		return "content-type"
	case 13<<8 | 'a':
		return "authorization"
	case 14<<8 | 'c':
		return "content-length"
	case 16<<8 | 'c':
		return "content-encoding"
	case 16<<8 | 'w':
		return "www-authenticate"
	case 17<<8 | 't':
		return "transfer-encoding"
	case 18<<8 | 'p':
		return "proxy-authenticate"
	case 19<<8 | 'p':
		return "proxy-authorization"
	}
	return ""
}

// equalFold reports whether b is a name in lower case, whatever its own case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// hasToken68 reports whether a challenge says more than its scheme: it is then a
// step of a login, or has parameters, and the first such one is kept.
func hasToken68(challenge []byte) bool { return bytes.IndexByte(challenge, ' ') >= 0 }

func hasToken(list []byte, token string) bool {
	for more := len(list) > 0; more; {
		var part []byte
		part, list, more = bytes.Cut(list, []byte{','})
		if equalFold(bytes.TrimSpace(part), token) {
			return true
		}
	}
	return false
}

// closes reports whether who sent this wants no further message on the connection
// (RFC 9112, 9.3).
func (h *head) closes() bool {
	const persistent = '1' // since HTTP/1.1
	return h.closing || h.minor < persistent && !h.keeping
}

// bytes is the length of the head.
func (h *head) bytes() uint64 { return size(h.size) }

// size turns a length, which is never negative, into a number of bytes.
func size[T int | int64](n T) uint64 { return uint64(n) }

func clip(b []byte, n int) string { return string(b[:min(len(b), n)]) }
