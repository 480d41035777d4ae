// Package ask pairs requests with their answers, for analyzers of protocols in
// which one end asks and the other replies.
package ask

import (
	"slices"

	"netwhy/analyze/conn"
	"netwhy/analyze/proto"
)

// Request is one that waits for its answer.
type Request struct {
	ID    uint64
	Label string
	Start int64 // of its first byte, ns since 1970 UTC
	End   int64
	Frame uint64
	Last  uint64
	Bytes uint64
	Times uint32 // sent
}

// maxOpen bounds the requests that wait in one conversation; the oldest are
// forgotten.
const maxOpen = 256

// Book keeps the requests of one conversation. Protocol must be set.
type Book struct {
	Protocol string
	open     []Request
}

// Open is the number of requests that wait.
func (b *Book) Open() int { return len(b.open) }

// Ask notes a request of n bytes, which ended with the frame at hand. The same
// id asked again is a repetition of a datagram and changes nothing but Times.
func (b *Book) Ask(s *proto.Scope, id uint64, label string, n int) *Request {
	for i := range b.open {
		if b.open[i].ID == id {
			b.open[i].Times++
			return &b.open[i]
		}
	}
	return b.Queue(s, id, label, n)
}

// Queue notes a request in a stream, where equal ids are different requests
// that are answered in order.
func (b *Book) Queue(s *proto.Scope, id uint64, label string, n int) *Request {
	if len(b.open) >= maxOpen {
		b.open = slices.Delete(b.open, 0, 1)
	}
	at, frame := s.Began()
	b.open = append(b.open, Request{
		ID: id, Label: label, Start: at, End: s.Now(), Frame: frame, Last: s.Frame(), Bytes: uint64(max(n, 0)), Times: 1,
	})
	return &b.open[len(b.open)-1]
}

// Answer pairs an answer of n bytes with the oldest request of its id and hands
// the exchange over. ok is false when nobody asked.
func (b *Book) Answer(s *proto.Scope, id uint64, code string, failed bool, n int) (r Request, took int64, ok bool) {
	i := slices.IndexFunc(b.open, func(r Request) bool { return r.ID == id })
	if i < 0 {
		return Request{}, 0, false
	}
	r = b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	at, frame := s.Began()
	at = max(at, r.End)
	s.Exchange(&conn.Exchange{
		Protocol: b.Protocol, Label: r.Label, Code: code, Failed: failed, Complete: true,
		ReqStart: r.Start, ReqEnd: r.End, ReqFrame: r.Frame, ReqLast: r.Last, ReqBytes: r.Bytes,
		RespStart: at, RespFrame: frame, RespEnd: s.Now(), RespLast: s.Frame(), RespBytes: uint64(max(n, 0)),
	})
	return r, at - r.Start, true
}

// Oldest returns the request that has waited longest; nil: none waits.
func (b *Book) Oldest() *Request {
	if len(b.open) == 0 {
		return nil
	}
	return &b.open[0]
}

// GiveUp hands over what still waits after at least patience (ns), or was sent
// again, as failed exchanges, and tells each to lost. The scope given to lost
// stands at the request's last frame.
func (b *Book) GiveUp(s *proto.Scope, patience int64, lost func(s *proto.Scope, r *Request, waited int64)) {
	for i := range b.open {
		r := &b.open[i]
		waited := max(s.Now()-r.Start, 0)
		if waited < patience && r.Times < 2 {
			continue
		}
		at := *s
		at.At, at.FrameNo = r.End, r.Last
		at.Exchange(&conn.Exchange{
			Protocol: b.Protocol, Label: r.Label, Failed: true,
			ReqStart: r.Start, ReqEnd: r.End, ReqFrame: r.Frame, ReqLast: r.Last, ReqBytes: r.Bytes,
		})
		if lost != nil {
			lost(&at, r, waited)
		}
	}
	b.open = nil
}

// Clip bounds a text of a packet that goes into a finding.
func Clip(b []byte) string {
	const enough = 128
	return string(b[:min(len(b), enough)])
}
