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
	switch line[0] | ('a' - 'A') {
	case 'a', 'c', 'e', 'h', 'l', 'p', 's', 't', 'u', 'w':
	default:
		return // most of the others
	}
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok {
		return
	}
	value = bytes.TrimSpace(value)
	is := func(s string) bool { return equalFold(name, s) }
	switch len(name) {
	case 4:
		if is("host") {
			h.host = value
		}
	case 6:
		switch {
		case is("server"):
			h.server = value
		case is("expect"):
			h.expect = bytes.EqualFold(value, []byte("100-continue"))
		}
	case 7:
		if is("upgrade") {
			h.upgrade = value
		}
	case 8:
		if is("location") {
			h.location = value
		}
	case 10:
		switch {
		case is("connection"):
			h.closing = h.closing || hasToken(value, "close")
			h.keeping = h.keeping || hasToken(value, "keep-alive")
		case is("user-agent"):
			h.agent = value
		}
	case 12:
		if is("content-type") {
			h.kind = value
		}
	case 13:
		if is("authorization") {
			h.auth = value
		}
	case 14:
		if is("content-length") {
			n, err := strconv.ParseInt(string(value), 10, 64)
			if err != nil || n < 0 || h.length >= 0 && h.length != n {
				h.bad = true
				return
			}
			h.length = n
		}
	case 16:
		if is("www-authenticate") && !hasToken68(h.challenge) {
			h.challenge = value
		}
	case 17:
		if is("transfer-encoding") {
			h.chunked = hasToken(value, "chunked")
		}
	case 18:
		if is("proxy-authenticate") && !hasToken68(h.challenge) {
			h.challenge = value
		}
	case 19:
		if is("proxy-authorization") {
			h.auth = value
		}
	}
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
