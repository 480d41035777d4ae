package web

import (
	"net/netip"

	"netwhy/analyze/proto"
)

// Attempt is published for the first request of each connection (of those that carry
// many at once: the first ones), for each one that was left without an answer or
// failed in a way that is tried again, and for some after it, when its end is known:
// who asks again can be found by it.
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
	Apart                bool // who asks again on the same connection is not its first answer's reader
	// Of one that failed so that it is asked again:
	Status   int   // 0: it did not
	Answered int64 // when that answer began
}

// Fate is what became of a request.
type Fate struct {
	Unanswered bool
	Apart      bool  // it stands in a stream of its own, or was asked again while it waited
	Status     int   // of the response; 0: none
	Answered   int64 // when that began
	Why        proto.End
}

// Failed reports whether clients ask again after it.
func (f *Fate) Failed() bool { return f.Unanswered || Passing(f.Status) }

// Passing reports whether a status tells of trouble that may pass, so that clients try
// again (RFC 9110, 15.5.9 and 15.6; RFC 6585, 4).
func Passing(status int) bool {
	switch status {
	case 408, 429, 500, 502, 503, 504:
		return true
	}
	return false
}

// Repeats is how many requests of a connection are told after one that failed.
const Repeats = 8

// FirstStreams is how many requests of a connection with streams are its first:
// clients that lost a connection ask again at once for all that was open on it, and
// 100 are what a server should let them have open (RFC 9113, 6.5.2).
const FirstStreams = 100

// Attempted publishes one request with what became of it. The texts are kept of
// those that failed only.
func Attempted(s *proto.Scope, q *Request, start, end int64, frame uint64, f Fate) {
	x := &Attempt{
		Client: s.Client().Addr(), Request: hash(q.Method, q.Host, q.Target), Start: start, End: end, Frame: frame,
		Unanswered: f.Unanswered, Apart: f.Apart,
	}
	if f.Failed() {
		x.Method, x.Target, x.Host = q.Method, q.Target, q.Host
	}
	switch {
	case f.Unanswered:
		x.Over, x.Reset = f.Why == proto.Closed || f.Why == proto.Reset, f.Why == proto.Reset
	case Passing(f.Status):
		x.Status, x.Answered = f.Status, f.Answered
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
