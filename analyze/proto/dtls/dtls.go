package dtls

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Spec declares the analyzer. Its findings are those of TLS and declared there.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "dtls", Doc: "DTLS 1.0, 1.2 and 1.3 (RFC 4347, 6347, 9146, 9147)",
		Carrier: proto.UDP, Anywhere: true,
		Ports: []uint16{443, 684, 853, 2221, 3391, 4433, 4755, 5061, 5246, 5247, 5349, 5684, 10161, 10162},
		Probe: probe,
		New:   func() proto.Analyzer { return newAnalyzer() },
	}
}

// Sizes (RFC 6347, 4.1 and 4.2.2).
const (
	headerLen   = 13
	fragmentLen = 12
	maxRecord   = 1<<14 + 2048
	oldOpenSSL  = 0x0100 // DTLS 1.0 as OpenSSL before 0.9.8f numbered it
	typeCID     = 25     // a protected record with a connection id (RFC 9146, 3)
	lastType    = 26     // ACK (RFC 9147, 7)
)

// record is one record; body refers to the datagram.
type record struct {
	typ     uint8
	version uint16
	epoch   uint16
	number  uint64 // sequence number, with the epoch in its upper bits
	body    []byte
	length  int // of the body, as the header tells it
	size    int // with its header
}

// parse reads the first record of b; cid is the length of the connection ids in this
// direction.
func parse(b []byte, cid int) (r record, ok bool) {
	if len(b) < headerLen || b[0] != typeCID {
		cid = 0
	}
	head := headerLen + cid
	if len(b) < head {
		return r, false
	}
	r.typ, r.version, r.epoch = b[0], binary.BigEndian.Uint16(b[1:]), binary.BigEndian.Uint16(b[3:])
	r.number = binary.BigEndian.Uint64(b[3:])
	r.length = int(binary.BigEndian.Uint16(b[head-2:]))
	if r.typ < handshake.RecordChangeCipher || r.typ > lastType || !isVersion(r.version) || r.length > maxRecord {
		return r, false
	}
	r.size = head + r.length
	r.body = b[head:min(len(b), r.size)]
	return r, true
}

// short reports whether the record is longer than its datagram.
func (r *record) short() bool { return len(r.body) < r.length }

func isVersion(v uint16) bool {
	return v == tlsmsg.DTLS10 || v == tlsmsg.DTLS12 || v == oldOpenSSL
}

// probe is certain of hellos, and of records that fill their datagram.
func probe(_ flow.Dir, b []byte) proto.Verdict {
	verdict := proto.No
	for n := 0; len(b) > 0; n++ {
		r, ok := parse(b, 0)
		switch {
		case !ok:
			return min(verdict, proto.Likely)
		case r.epoch == 0 && r.typ == handshake.RecordHandshake && len(r.body) >= fragmentLen &&
			(r.body[0] >= tlsmsg.TypeClientHello && r.body[0] <= tlsmsg.TypeHelloVerifyRequest):
			return proto.Certain
		case r.short(): // cut by the snaplen, or no record
			if n == 0 {
				return proto.Likely
			}
			return verdict
		}
		verdict = proto.Likely
		b = b[r.size:]
		if len(b) == 0 && n > 0 {
			return proto.Certain
		}
	}
	return verdict
}

// Bounds of the messages being put together.
const (
	maxMessages = 8
	maxMessage  = 64 << 10
	maxSeq      = 64 // of messages of one handshake; real ones have ten
)

// message is a handshake message of which fragments came.
type message struct {
	seq   uint16
	typ   uint8
	began handshake.When
	data  []byte
	have  []span // sorted, apart
}

type span struct{ from, to int }

// analyzer is one conversation.
type analyzer struct {
	session handshake.Session
	half    [2]half
	keys    keys
	early   int // records of 0-RTT
	last    int64
}

type half struct {
	open []message
	done [maxSeq]bool // messages delivered: repetitions are no news
}

func newAnalyzer() *analyzer {
	return &analyzer{session: handshake.Session{Transport: tlsmsg.OverDTLS}}
}

// Data implements proto.Analyzer.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	a.last = s.Now()
	size := len(b)
	for first := true; len(b) > 0; first = false {
		if isUnified(b[0]) {
			u, ok := parseUnified(b, a.session.CID(dir))
			if !ok {
				break
			}
			a.unified(s, dir, &u)
			b = b[u.size:]
			continue
		}
		r, ok := parse(b, a.session.CID(dir))
		if !ok {
			if first && b[0] >= handshake.RecordChangeCipher && b[0] < 64 {
				s.Malformed("bytes that are no DTLS record")
			}
			break // STUN, TURN and RTP may share the port and have other first bytes (RFC 7983)
		}
		a.record(s, dir, &r)
		b = b[min(r.size, len(b)):]
	}
	return size, nil
}

func (a *analyzer) record(s *proto.Scope, dir flow.Dir, r *record) {
	switch {
	case r.typ == handshake.RecordChangeCipher:
		a.session.ChangeCipher(s, dir)
	case r.epoch > 0:
		if r.typ == typeCID {
			s.Attr("dtls.cid", "yes")
			r.typ = handshake.RecordHandshake // the true type is encrypted: a Finished comes first
			if a.session.Done() {
				r.typ = handshake.RecordData
			}
		}
		plain, ok := a.keys.open(s, &a.session, dir, r)
		if !ok {
			a.session.Sealed(s, dir, r.typ, len(r.body))
			return
		}
		a.plain(s, dir, r.typ, plain)
	default:
		a.plain(s, dir, r.typ, r.body)
	}
}

// plain takes the content of a record that can be read.
func (a *analyzer) plain(s *proto.Scope, dir flow.Dir, typ uint8, body []byte) {
	switch typ {
	case handshake.RecordAlert:
		if handshake.Readable(body) {
			a.session.Alert(s, dir, body[0], body[1])
		}
	case handshake.RecordHandshake:
		a.fragments(s, dir, body)
	case handshake.RecordData:
		a.session.Data(dir)
	}
}

// fragments reads the handshake fragments of a record (RFC 6347, 4.2.3).
func (a *analyzer) fragments(s *proto.Scope, dir flow.Dir, b []byte) {
	for len(b) >= fragmentLen {
		total, seq := int(b[1])<<16|int(b[2])<<8|int(b[3]), binary.BigEndian.Uint16(b[4:])
		off, n := int(b[6])<<16|int(b[7])<<8|int(b[8]), int(b[9])<<16|int(b[10])<<8|int(b[11])
		if off+n > total || total > maxMessage {
			s.Malformed("DTLS fragment outside of its message")
			return
		}
		if n > len(b)-fragmentLen {
			return // cut by the snaplen
		}
		a.fragment(s, dir, b[0], seq, total, off, b[fragmentLen:fragmentLen+n])
		b = b[fragmentLen+n:]
	}
}

func (a *analyzer) fragment(s *proto.Scope, dir flow.Dir, typ uint8, seq uint16, total, off int, data []byte) {
	h := &a.half[dir]
	now := handshake.When{At: s.Now(), Frame: s.Frame()}
	if seq >= maxSeq || h.done[seq] {
		return
	}
	if off == 0 && len(data) == total {
		h.done[seq] = true
		a.session.Message(s, dir, typ, data, now)
		return
	}
	m := h.message(seq, typ, total, now)
	if m == nil || len(m.data) != total {
		return
	}
	copy(m.data[off:], data)
	if !m.cover(off, off+len(data)) {
		return
	}
	h.done[seq] = true
	body, began := m.data, m.began
	h.drop(seq)
	a.session.Message(s, dir, typ, body, began)
}

// message finds the message that a fragment belongs to, or begins one; the
// oldest makes room.
func (h *half) message(seq uint16, typ uint8, total int, now handshake.When) *message {
	for i := range h.open {
		if h.open[i].seq == seq {
			return &h.open[i]
		}
	}
	if len(h.open) >= maxMessages {
		h.open = append(h.open[:0], h.open[1:]...)
	}
	h.open = append(h.open, message{seq: seq, typ: typ, began: now, data: make([]byte, total)})
	return &h.open[len(h.open)-1]
}

func (h *half) drop(seq uint16) {
	for i := range h.open {
		if h.open[i].seq == seq {
			h.open = append(h.open[:i], h.open[i+1:]...)
			return
		}
	}
}

// cover notes bytes from..to and reports whether all of the message is there.
func (m *message) cover(from, to int) bool {
	const most = 64 // holes; a message in 64 fragments is not sent by anybody
	out := m.have[:0:0]
	for _, s := range m.have {
		if s.to < from || s.from > to {
			out = append(out, s)
			continue
		}
		from, to = min(from, s.from), max(to, s.to)
	}
	if len(out) < most {
		out = append(out, span{from, to})
	}
	m.have = out
	return len(out) == 1 && out[0].from == 0 && out[0].to == len(m.data)
}

// Gap implements proto.Analyzer; datagrams have none.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End implements proto.Analyzer.
func (a *analyzer) End(s *proto.Scope, why proto.End) {
	if a.early > 0 {
		s.Attr("dtls.early_data.records", strconv.Itoa(a.early))
	}
	a.session.End(s, why, max(a.last, s.Now()))
}
