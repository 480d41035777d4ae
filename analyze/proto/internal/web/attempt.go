package web

import (
	"net/netip"

	"netwhy/analyze/proto"
)

// Attempt is published for the first request of each connection (of those that carry
// many at once: the first ones), and for each one that was left without an answer,
// when its end is known: who asks again on another connection can be found by it.
type Attempt struct {
	Client  netip.Addr
	Request uint64 // hash of method, host and target
	Start   int64  // of the request, ns since 1970 UTC
	End     int64  // of the request
	Frame   uint64 // its first
	// Of one without an answer:
	Unanswered           bool
	Over                 bool // its connection was closed or reset
	Reset                bool // by a RST
	Method, Target, Host string
}

// FirstStreams is how many requests of a connection with streams are its first:
// clients that lost a connection ask again at once for all that was open on it, and
// 100 are what a server should let them have open (RFC 9113, 6.5.2).
const FirstStreams = 100

// Attempted publishes one request with what became of it. The texts are kept of
// those without an answer only.
func Attempted(s *proto.Scope, q *Request, start, end int64, frame uint64, unanswered bool, why proto.End) {
	x := &Attempt{
		Client: s.Client().Addr(), Request: hash(q.Method, q.Host, q.Target), Start: start, End: end, Frame: frame,
		Unanswered: unanswered,
	}
	if unanswered {
		x.Over, x.Reset = why == proto.Closed || why == proto.Reset, why == proto.Reset
		x.Method, x.Target, x.Host = q.Method, q.Target, q.Host
	}
	s.Publish(x)
}

// hash is FNV-1a of texts, kept apart by a byte that none of them has.
func hash(texts ...string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, text := range texts {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * prime
		}
		h = (h ^ '\n') * prime
	}
	return h
}
