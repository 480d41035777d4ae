package syslog

import (
	"bytes"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// TCP declares syslog over TCP (RFC 6587, RFC 3195's port). Codes are declared by
// Spec.
func TCP() proto.Spec {
	return proto.Spec{
		Name: name, Doc: "Syslog over TCP, RFC 6587",
		Carrier: proto.TCP, Ports: []uint16{514, 601, 1514, 5140, 10514}, Unlisted: []uint16{514, 601, 1514, 5140, 10514},
		First: func(dir flow.Dir, c byte) bool { return dir == flow.ToServer && (c == '<' || c >= '1' && c <= '9') },
		Probe: probeStream,
		New:   func() proto.Analyzer { return &stream{} },
	}
}

// Sizes: a receiver should take 2 KiB (RFC 5424, 6.1), and many take 64.
const (
	maxCount   = 5 // digits of a length
	maxMessage = 60 << 10
)

// counted reads "length space" (RFC 6587, 3.4.1). at is 0 where there is none;
// more tells that the digits may go on.
func counted(b []byte) (n, at int, more bool) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9' && i < maxCount && (i > 0 || c != '0'):
			n = n*10 + int(c-'0')
		case c == ' ' && i > 0 && n <= maxMessage:
			return n, i + 1, false
		default:
			return 0, 0, false
		}
	}
	return 0, 0, true
}

// probeStream is certain of a version or a date behind the priority, and finds
// the priority alone likely.
func probeStream(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToClient {
		return proto.No // collectors say nothing
	}
	_, at, more := counted(b)
	if more {
		return proto.NeedMore
	}
	b = b[at:]
	const enough = len("<191>Oct")
	if len(b) < enough && (len(b) == 0 || b[0] == '<') {
		return proto.NeedMore
	}
	_, text, ok := priority(b)
	if !ok {
		return proto.No
	}
	switch b = b[text:]; {
	case len(b) >= 2 && b[0] == '1' && b[1] == ' ', len(b) >= 3 && isMonth(b[:3]):
		return proto.Certain
	case at > 0:
		return proto.Likely
	}
	return proto.No
}

func isMonth(b []byte) bool {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	i := bytes.Index([]byte(names), b)
	return i >= 0 && i%3 == 0
}

// stream takes messages apart: by their length, or by their line ends (RFC 6587,
// 3.4).
type stream struct {
	lost bool // look for the next message
}

// Data takes one message.
func (a *stream) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if dir == flow.ToClient {
		return len(b), nil
	}
	if a.lost {
		if probeStream(dir, b) < proto.Likely {
			return len(b), nil
		}
		a.lost = false
	}
	n, at, more := counted(b)
	if at > 0 {
		if len(b) < at+n {
			return 0, nil
		}
		message(s, b[at:at+n])
		return at + n, nil
	}
	if more {
		return 0, nil
	}
	end := bytes.IndexAny(b, "\n\x00")
	if end < 0 {
		if len(b) > maxMessage {
			a.lost = true
			return len(b), nil
		}
		return 0, nil
	}
	message(s, b[:end])
	return end + 1, nil
}

// Gap loses the message at hand.
func (a *stream) Gap(_ *proto.Scope, dir flow.Dir, _ int) error {
	a.lost = a.lost || dir == flow.ToServer
	return nil
}

// End does nothing: what is said is said.
func (*stream) End(*proto.Scope, proto.End) {}
