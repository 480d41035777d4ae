package tls

import (
	"encoding/binary"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/assigned"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// analyzer is one connection.
type analyzer struct {
	session handshake.Session
	half    [2]half
	keys    keys
	last    int64
	inner   bool // data was decrypted
	told    bool // a record came that tells TLS from others
}

// half is one direction.
type half struct {
	skip    int    // bytes of a record that nobody needs
	want    int    // bytes of the record at hand that are still to come
	lost    bool   // look for the next record
	seen    bool   // a record was read
	message []byte // handshake messages put together from records
	began   handshake.When
	drop    int    // bytes of a handshake message that is too long
	fresh   uint64 // frame in which the record at hand begins, if it is skipped
}

func newAnalyzer() *analyzer {
	return &analyzer{session: handshake.Session{Transport: tlsmsg.OverTCP}}
}

// Data implements proto.Analyzer. It uses one record a call.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	a.last = s.Now()
	h := &a.half[dir]
	if h.skip > 0 {
		n := min(h.skip, len(b))
		switch h.skip -= n; {
		case cut(s) && h.fresh != s.Frame() && refused(b):
			rest(s, b)
		case h.skip == 0 || cut(s):
			counted(s)
		}
		return n, nil
	}
	if _, frame := s.Began(); frame == s.Frame() {
		counted(s)
	}
	if h.lost && !a.found(h, dir, b) {
		if probe(dir, b) == proto.NeedMore {
			return 0, nil
		}
		return len(b), nil
	}
	if dir == flow.ToServer && !h.seen && isOldHello(b) {
		return a.oldHello(s, h, b), nil
	}
	if !plausible(b) {
		if !h.seen && dir == flow.ToClient {
			a.session.Foreign(s, b)
		} else {
			s.Malformed("bytes that are no TLS record")
		}
		h.lost = true
		return len(b), nil
	}
	if len(b) < headerLen {
		return 0, nil
	}
	typ, version, n, ok := header(b)
	if !ok {
		s.Malformed("TLS record longer than the protocol allows")
		h.lost = true
		return len(b), nil
	}
	h.seen, a.told = true, a.told || tells(typ)
	if typ == handshake.RecordData && !a.keys.wanted(s, &a.session, dir) {
		a.session.Sealed(s, dir, typ, n)
		h.skip, h.fresh = n, s.Frame()
		return headerLen, nil
	}
	if h.want = headerLen + n - len(b); h.want > 0 {
		return 0, nil
	}
	h.want = 0
	counted(s)
	a.record(s, dir, typ, version, b[headerLen:headerLen+n])
	return headerLen + n, nil
}

// cut reports whether the frame at hand was cut by the snaplen: tshark waits for no
// rest then.
func cut(s *proto.Scope) bool {
	p := s.Packet()
	return p != nil && p.Payload < p.End && p.PayloadLen > p.End-p.Payload
}

// counted counts the frame, as tshark does those in which a record begins or ends.
func counted(s *proto.Scope) { s.Carries(name) }

// refused reports bytes that tshark does not take for TLS, though the connection has it: a
// segment that begins like a text. It looks at each alone where segments are cut.
func refused(b []byte) bool {
	const look, lastPrintable = 4, '~'
	for _, c := range b[:min(len(b), look)] {
		if c < ' ' || c > lastPrintable {
			return false
		}
	}
	return len(b) >= look
}

// rest counts what tshark does not take for TLS.
func rest(s *proto.Scope, b []byte) {
	if assigned.LooksJXTA(b) {
		s.Carries(assigned.JXTA)
		return
	}
	s.Carries(assigned.Data)
}

// alerted counts an alert, but for one that tshark takes for sent again, and at a foreign
// port one with which it has seen no record of another kind: by such it recognises TLS.
func (a *analyzer) alerted(s *proto.Scope, key string) {
	if !s.Resent() && (a.told || assigned.TLS.Owns(s.Server().Port(), s.Client().Port())) {
		s.Count(proto.TLSAlert, key)
	}
}

// tells reports whether a record makes tshark recognise TLS at a foreign port.
func tells(typ uint8) bool { return typ == handshake.RecordHandshake || typ == handshake.RecordData }

// found looks for a record at the start of a segment after a gap.
func (a *analyzer) found(h *half, dir flow.Dir, b []byte) bool {
	v := probe(dir, b)
	if v < proto.Likely || isOldHello(b) {
		return false
	}
	h.lost = false
	a.keys.resync(dir)
	return true
}

// Gap implements proto.Analyzer.
func (a *analyzer) Gap(s *proto.Scope, dir flow.Dir, n int) error {
	h := &a.half[dir]
	h.message, h.drop = nil, 0
	a.session.Data(dir) // it may have been
	if a.session.Done() && a.keys.opens(dir) {
		s.InnerLost(dir, n) // close enough: records add some 30 bytes
	}
	if h.want > 0 { // what there was of that record is gone
		h.skip, h.want = h.want, 0
		a.keys.resync(dir)
	}
	if h.skip >= n {
		h.skip -= n
		return nil
	}
	h.skip, h.lost = 0, true
	return nil
}

// End implements proto.Analyzer.
func (a *analyzer) End(s *proto.Scope, why proto.End) {
	a.session.End(s, why, max(a.last, s.Now()))
}

// record takes one whole record.
func (a *analyzer) record(s *proto.Scope, dir flow.Dir, typ uint8, version uint16, body []byte) {
	if typ == handshake.RecordChangeCipher {
		a.session.ChangeCipher(s, dir)
		a.keys.change(s, &a.session, dir)
		return
	}
	if a.sealed(dir, typ) {
		if plain, inner, ok := a.open(s, dir, typ, version, body); ok {
			a.plain(s, dir, inner, plain)
			return
		}
		if typ == handshake.RecordAlert {
			a.alerted(s, "encrypted")
		}
		a.session.Sealed(s, dir, typ, len(body))
		if typ == handshake.RecordData && a.inner {
			s.InnerLost(dir, len(body))
		}
		return
	}
	a.plain(s, dir, typ, body)
}

// sealed reports whether a record of this type is encrypted now.
func (a *analyzer) sealed(dir flow.Dir, typ uint8) bool {
	return typ == handshake.RecordData || a.session.Encrypted(dir)
}

// plain takes the content of a record that can be read.
func (a *analyzer) plain(s *proto.Scope, dir flow.Dir, typ uint8, body []byte) {
	switch typ {
	case handshake.RecordHandshake:
		a.fragment(s, dir, body)
	case handshake.RecordAlert:
		if key := handshake.AlertKey(body); key != "encrypted" {
			a.alerted(s, key)
			a.session.Alert(s, dir, body[0], body[1])
			return
		}
		a.alerted(s, "encrypted")
		a.session.Sealed(s, dir, typ, len(body))
	case handshake.RecordData:
		a.inner = true
		a.session.Data(dir)
		s.Inner(dir, body)
	}
}

// fragment takes handshake bytes of one record: a message may be spread over
// several records, and a record may hold several messages (RFC 8446, 5.1).
func (a *analyzer) fragment(s *proto.Scope, dir flow.Dir, body []byte) {
	h := &a.half[dir]
	if h.drop > 0 {
		n := min(h.drop, len(body))
		h.drop -= n
		body = body[n:]
	}
	for len(body) > 0 {
		if len(h.message) == 0 {
			h.began.At, h.began.Frame = s.Began()
		}
		if len(h.message) == 0 && len(body) >= messageLen { // whole in this record: no copy
			if n := messageLen + length24(body); len(body) >= n {
				a.message(s, dir, body[0], body[messageLen:n], h.began)
				body = body[n:]
				continue
			}
		}
		need := messageLen
		if len(h.message) >= messageLen {
			need = messageLen + length24(h.message)
		}
		if need > maxMessage || len(h.message) == 0 && len(body) >= messageLen && length24(body) > maxMessage {
			s.Malformed("TLS handshake message longer than any certificate chain")
			h.message, h.drop = nil, 0
			return
		}
		take := min(need-len(h.message), len(body))
		h.message = append(h.message, body[:take]...)
		body = body[take:]
		if len(h.message) >= messageLen && len(h.message) == messageLen+length24(h.message) {
			m := h.message
			h.message = nil
			a.message(s, dir, m[0], m[messageLen:], h.began)
		}
	}
}

func length24(b []byte) int { return int(b[1])<<16 | int(b[2])<<8 | int(b[3]) }

func (a *analyzer) message(s *proto.Scope, dir flow.Dir, typ uint8, body []byte, began handshake.When) {
	a.session.Message(s, dir, typ, body, began)
	a.keys.message(s, &a.session, dir, typ)
}

// oldHello reads a ClientHello of SSL 2 (RFC 5246, E.2).
func (a *analyzer) oldHello(s *proto.Scope, h *half, b []byte) int {
	n := 2 + int(binary.BigEndian.Uint16(b)&^(oldHelloFlag<<8))
	if len(b) < n {
		return 0
	}
	h.seen, a.told = true, true
	at, frame := s.Began()
	a.session.OldHello(s, binary.BigEndian.Uint16(b[3:]), handshake.When{At: at, Frame: frame})
	return n
}
