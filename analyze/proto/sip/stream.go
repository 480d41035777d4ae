package sip

import (
	"bytes"
	"strconv"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// TCP declares the same over TCP (RFC 3261, 18.3). Codes are declared by Spec.
func TCP() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "Session Initiation Protocol over TCP, RFC 3261",
		Carrier: proto.TCP, Ports: []uint16{5060}, Anywhere: true,
		First: func(_ flow.Dir, c byte) bool { return c == '\r' || c == '\n' || c >= 'A' && c <= 'Z' },
		Probe: probeStream,
		New:   func() proto.Analyzer { return &stream{analyzer: analyzer{open: map[string]*request{}}} },
	}
}

// probeStream waits for the whole first line.
func probeStream(dir flow.Dir, b []byte) proto.Verdict {
	const longest = 512
	b = bytes.TrimLeft(b, "\r\n")
	if bytes.IndexByte(b, '\n') < 0 && len(b) < longest && begins(b) {
		return proto.NeedMore
	}
	return probe(dir, b)
}

// begins reports whether a first line may become one of this protocol.
func begins(b []byte) bool {
	if starts(b, answerLine) {
		return true
	}
	if len(b) > 0 && (b[0] < 'A' || b[0] > 'Z') {
		return false
	}
	for _, m := range methods() {
		if starts(b, m) {
			return true
		}
	}
	return false
}

// starts reports whether as much of a text is there as b is long.
func starts(b []byte, text string) bool {
	n := min(len(b), len(text))
	return string(b[:n]) == text[:n]
}

// stream puts messages together that follow one another without a mark: each has
// its length (RFC 3261, 18.3 and 20.14).
type stream struct {
	analyzer

	skip [2]int  // bytes of a body that nobody needs
	lost [2]bool // look for the next message
}

const (
	maxHead = 16 << 10
	maxBody = 32 << 10 // head and body are below proto.MaxBuffered
)

// Data takes one message.
func (a *stream) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if n := min(a.skip[dir], len(b)); n > 0 {
		a.skip[dir] -= n
		return n, nil
	}
	if n := len(b) - len(bytes.TrimLeft(b, "\r\n")); n > 0 { // keep-alive (RFC 5626, 3.5.1)
		return n, nil
	}
	if !begins(b) {
		if !a.lost[dir] {
			s.Malformed("SIP message without a first line")
		}
		a.lost[dir] = true
		return len(b), nil
	}
	a.lost[dir] = false
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		if len(b) > maxHead {
			s.Malformed("SIP header longer than any telephone takes")
			a.lost[dir] = true
			return len(b), nil
		}
		return 0, nil
	}
	end += len("\r\n\r\n")
	n, ok := length(b[:end])
	if !ok {
		s.Malformed("SIP Content-Length that is no number")
	}
	switch {
	case n > maxBody:
		a.message(s, b[:end])
		a.skip[dir] = n
		return end, nil
	case len(b) < end+n:
		return 0, nil
	}
	if !s.Duplicate() {
		a.message(s, b[:end+n])
	}
	return end + n, nil
}

// length reads the length of a body; none told: there is none.
func length(head []byte) (n int, ok bool) {
	const longest = 1 << 24
	for line := range bytes.Lines(head) {
		name, value, _ := bytes.Cut(line, []byte{':'})
		name = bytes.TrimSpace(name)
		if !bytes.EqualFold(name, []byte("content-length")) && !bytes.EqualFold(name, []byte("l")) {
			continue
		}
		n, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil || n < 0 || n > longest {
			return 0, false
		}
		return n, true
	}
	return 0, true
}

// Gap loses the message at hand.
func (a *stream) Gap(_ *proto.Scope, dir flow.Dir, n int) error {
	a.lost[dir] = a.skip[dir] < n
	a.skip[dir] = max(a.skip[dir]-n, 0)
	return nil
}
