package quic

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Thresholds, ns. Reasons stand in the Docs of the codes.
const (
	ms      = 1_000_000
	second  = 1000 * ms
	slow    = second
	stalled = second
)

// maxDerive bounds how often keys are derived for one conversation: for the first
// Initial of each side, after Retry or a new version, and some for connections that
// use the same ports again.
const maxDerive = 16

// analyzer is one conversation; several connections may follow one another.
type analyzer struct {
	session  handshake.Session
	version  uint32
	offered  uint32   // by the client, also when nobody knows it
	veiled   bool     // another version was asked for: to tshark the client's part is sealed until the server's comes
	keys     [2]*keys // of Initial packets, by sender: client, server
	keyed    []byte   // connection id that they follow from
	derived  int
	over     bool // Initial packets are read no more, but those of another connection
	flip     bool // the conversation's client is the connection's server
	oriented bool
	crypto   [2]stream
	cid      [2]int  // length of the connection id that a sender chose; -1: not known
	asked    bool    // secrets were looked for
	secure   *secure // nil: there are none

	first, last   handshake.When // client's first packet; last packet of the handshake
	answer        handshake.When // server's first packet
	done          bool
	doneAt        handshake.When
	packets       [2]int // datagrams by sender
	lastFrom      int
	closed        bool
	oneSided      bool // the client went on although no answer was seen
	failure       string
	clientPackets int // until the first answer
	clientLast    int64
	early         int // 0-RTT packets
	spin          [2]spin
}

func newAnalyzer() *analyzer {
	return &analyzer{session: handshake.Session{Transport: tlsmsg.OverQUIC}, cid: [2]int{-1, -1}}
}

// Data implements proto.Analyzer.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	size := len(b)
	for datagram := true; len(b) > 0; datagram = false {
		n := a.packet(s, dir, b, datagram)
		if n <= 0 || n > len(b) {
			break
		}
		b = b[n:]
	}
	return size, nil
}

// packet takes one of the packets coalesced in a datagram (RFC 9000, 12.2) and
// returns its length; 0: the rest cannot be read.
func (a *analyzer) packet(s *proto.Scope, dir flow.Dir, b []byte, datagram bool) int {
	if b[0]&0x80 == 0 {
		a.short(s, dir, b, datagram)
		return len(b)
	}
	p, ok := parseLong(b)
	if !ok {
		if datagram {
			s.Malformed("QUIC header cut short")
		}
		return 0
	}
	if p.version == 0 {
		a.negotiation(s, dir, &p)
		return len(b)
	}
	if a.sender(dir) == 0 {
		a.offered = p.version
	}
	if !known(p.version) {
		a.note(s, a.sender(dir), datagram)
		return len(b)
	}
	if !p.body(b) {
		if !datagram || allZero(b) {
			return 0 // padding behind the last packet
		}
		a.note(s, a.sender(dir), datagram)
		return 0
	}
	if p.kind != retry {
		a.cid[a.sender(dir)] = len(p.scid)
	}
	switch p.kind {
	case initial:
		a.initial(s, dir, &p)
	case retry:
		s.Report(Retry, finding.Text(a.session.SNI()))
		s.Attr("quic.retry", "yes")
	case handshakePacket:
		a.sealedHandshake(s, a.sender(dir), &p)
		a.oneSided = a.oneSided || a.sender(dir) == 0 && a.answer.Frame == 0
	case zeroRTT:
		s.Attr("quic.early_data", "yes")
		a.early++
		a.sealedEarly(s, &p)
	}
	a.note(s, a.sender(dir), datagram)
	return p.size
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// sender is 0 for the connection's client and 1 for its server.
func (a *analyzer) sender(dir flow.Dir) int {
	if (dir == flow.ToClient) != a.flip {
		return 1
	}
	return 0
}

// note times packets of the handshake.
func (a *analyzer) note(s *proto.Scope, from int, datagram bool) {
	if datagram {
		a.packets[from]++
	}
	if a.done {
		return
	}
	now := handshake.When{At: s.Now(), Frame: s.Frame()}
	if from == 0 {
		if a.first.Frame == 0 {
			a.first = now
			s.App("quic")
		}
		a.clientLast = now.At
		if a.answer.Frame == 0 && datagram {
			a.clientPackets++
		}
	} else if a.answer.Frame == 0 {
		a.answer = now
	}
	a.last, a.lastFrom = now, from
}

// initial reads an Initial packet. Whoever's keys open it sent it.
func (a *analyzer) initial(s *proto.Scope, dir flow.Dir, p *long) {
	if a.version != p.version {
		if a.version != 0 { // both ends speak it, and the client began with another (RFC 9368, 2.1)
			s.Attr("quic.version.negotiated", versionName(p.version))
		}
		a.version = p.version
		a.keys = [2]*keys{}
		s.Attr("quic.version", versionName(p.version))
	}
	from := a.sender(dir)
	if a.over && (from == 1 || string(a.keyed) == string(p.dcid)) {
		return // of the handshake that is over
	}
	if a.keys[from] == nil && len(a.keyed) > 0 && !a.over && a.derived < maxDerive {
		a.derived++ // whatever the version, the first id counts (RFC 9369, 4.1)
		a.keys[from] = initialKeys(p.version, a.keyed, from)
	}
	if k := a.keys[from]; k != nil {
		if frames, ok := k.openInitial(s, p); ok {
			a.frames(s, from, frames)
			return
		}
	}
	if from == 1 && a.oriented || a.derived >= maxDerive || string(a.keyed) == string(p.dcid) && a.keys[0] != nil {
		return
	}
	// The first Initial, or one after Retry: its own connection id gives the keys.
	a.derived++
	k := initialKeys(p.version, p.dcid, 0)
	if k == nil {
		return
	}
	frames, ok := k.openInitial(s, p)
	if !ok {
		return
	}
	a.keys, a.keyed, a.over = [2]*keys{k}, slices.Clone(p.dcid), false
	if !a.oriented {
		a.oriented, a.flip = true, dir == flow.ToClient
	}
	a.crypto = [2]stream{}
	a.frames(s, 0, frames)
}

// frames reads the frames of an Initial packet (RFC 9000, 12.4 and 19).
func (a *analyzer) frames(s *proto.Scope, from int, b []byte) {
	r := reader{b: b}
	for r.padding(); len(r.b) > 0 && !r.bad; r.padding() {
		switch r.varint() {
		case 0, 1: // PADDING, PING
		case 2:
			r.ack(false)
		case 3:
			r.ack(true)
		case 6:
			off, n := r.varint(), r.varint()
			if data := r.bytes(n); !r.bad {
				a.crypto[from].add(off, data)
			}
		case 0x1c:
			code := r.varint()
			r.varint() // type of the frame that caused it
			reason := r.bytes(r.varint())
			if !r.bad {
				a.closing(s, from, code, reason, false)
			}
		case 0x1d:
			code := r.varint()
			reason := r.bytes(r.varint())
			if !r.bad {
				a.closing(s, from, code, reason, true)
			}
		default:
			r.bad = true
		}
	}
	if r.bad {
		s.Malformed("QUIC Initial packet with frames that do not belong there")
	}
	a.messages(s, from, &a.crypto[from])
	a.unlock(s)
}

// reader reads fields; bad sticks.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) varint() uint64 {
	v, w := varint(r.b)
	if w == 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[w:]
	return v
}

// padding skips PADDING frames: one byte each, and many.
func (r *reader) padding() {
	for len(r.b) >= 8 && binary.LittleEndian.Uint64(r.b) == 0 {
		r.b = r.b[8:]
	}
	for len(r.b) > 0 && r.b[0] == 0 {
		r.b = r.b[1:]
	}
}

func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// ack skips an ACK frame; each range needs two bytes at least.
func (r *reader) ack(ecn bool) {
	r.varint()
	r.varint()
	count := r.varint()
	r.varint()
	for i := uint64(0); i < count && !r.bad; i++ {
		r.varint()
		r.varint()
	}
	if ecn {
		r.varint()
		r.varint()
		r.varint()
	}
}

// closing reports CONNECTION_CLOSE, of the transport or of the application.
func (a *analyzer) closing(s *proto.Scope, from int, code uint64, reason []byte, application bool) {
	const longest = 256
	a.closed = true
	name := errorName(code)
	if application {
		name = applicationName(code)
	}
	s.Attr("quic.close", name)
	if code == 0 || application && benign(code) || a.failure != "" {
		return
	}
	a.failure = name
	s.Report(Close, finding.Num(code), finding.Text(name), finding.Num(from),
		finding.Text(string(reason[:min(len(reason), longest)])), finding.Text(a.session.SNI()))
}

// errorName writes a transport error (RFC 9000, 20.1).
func errorName(code uint64) string {
	names := [...]string{
		"NO_ERROR", "INTERNAL_ERROR", "CONNECTION_REFUSED", "FLOW_CONTROL_ERROR", "STREAM_LIMIT_ERROR", "STREAM_STATE_ERROR",
		"FINAL_SIZE_ERROR", "FRAME_ENCODING_ERROR", "TRANSPORT_PARAMETER_ERROR", "CONNECTION_ID_LIMIT_ERROR",
		"PROTOCOL_VIOLATION", "INVALID_TOKEN", "APPLICATION_ERROR", "CRYPTO_BUFFER_EXCEEDED", "KEY_UPDATE_ERROR",
		"AEAD_LIMIT_REACHED", "NO_VIABLE_PATH",
	}
	switch {
	case code < uint64(len(names)):
		return names[code]
	case code == 0x11:
		return "VERSION_NEGOTIATION_ERROR" // RFC 9368
	case code>>8 == 1:
		if alert := tlsmsg.AlertName(uint8(code & 0xff)); alert != "" {
			return alert
		}
	}
	return "0x" + strconv.FormatUint(code, 16)
}

func (a *analyzer) negotiation(s *proto.Scope, dir flow.Dir, p *long) {
	a.note(s, a.sender(dir), true)
	a.veiled = true
	var list []string
	for b := p.payload; len(b) >= 4 && len(list) < maxVersions; b = b[4:] {
		if v := be32(b); v&0x0f0f0f0f != 0x0a0a0a0a {
			list = append(list, versionName(v))
		}
	}
	offered := ""
	if a.offered != 0 {
		offered = versionName(a.offered)
	}
	s.Report(Negotiation, finding.Text(offered), finding.Text(strings.Join(list, " ")))
}

// short takes a packet with a short header: encrypted data (RFC 9000, 17.3).
func (a *analyzer) short(s *proto.Scope, dir flow.Dir, b []byte, datagram bool) {
	from := a.sender(dir)
	if datagram {
		a.packets[from]++
	}
	a.oneSided = a.oneSided || from == 0 && a.answer.Frame == 0
	if !a.done && from == 0 && a.answer.Frame != 0 {
		a.complete(s)
	}
	a.spin[from].take(b[0]&0x20 != 0, s.Now())
	a.sealedData(s, from, b)
}

// complete ends the handshake: the client sends data with the final keys.
func (a *analyzer) complete(s *proto.Scope) {
	a.done = true
	a.doneAt = handshake.When{At: s.Now(), Frame: s.Frame()}
	if a.session.Server != nil {
		a.over, a.keys, a.crypto = true, [2]*keys{}, [2]stream{} // nothing more comes that matters
	}
	if a.first.Frame == 0 {
		return
	}
	took := a.doneAt.At - a.first.At
	if took >= slow {
		s.Report(HandshakeSlow, finding.Text(a.session.SNI()), finding.Num(float64(took)/ms),
			finding.Num(float64(a.answer.At-a.first.At)/ms))
	}
	a.exchange(s)
}

func (a *analyzer) exchange(s *proto.Scope) {
	x := conn.Exchange{
		Protocol: "quic", Label: handshake.Label(s, a.session.SNI()), Code: "done", Complete: a.done,
		ReqStart: a.first.At, ReqEnd: a.first.At, ReqFrame: a.first.Frame, ReqLast: a.first.Frame,
	}
	if a.answer.Frame != 0 {
		x.RespStart, x.RespFrame = a.answer.At, a.answer.Frame
		x.RespEnd, x.RespLast = a.last.At, a.last.Frame
	}
	if a.done {
		x.RespEnd, x.RespLast = a.doneAt.At, a.doneAt.Frame
	} else {
		x.Failed, x.Code = true, a.failure
	}
	s.Exchange(&x)
}

// Gap implements proto.Analyzer; datagrams have none.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End implements proto.Analyzer.
func (a *analyzer) End(s *proto.Scope, _ proto.End) {
	for from, name := range [2]string{"quic.spin_rtt_client_ms", "quic.spin_rtt_server_ms"} {
		if rtt, ok := a.spin[from].median(); ok {
			s.Attr(name, strconv.FormatFloat(float64(rtt)/ms, 'f', 1, 64))
		}
	}
	if a.early > 0 {
		s.Attr("quic.early_data.packets", strconv.Itoa(a.early))
	}
	if a.secure != nil && a.secure.h3 != nil {
		a.secure.h3.end(s, max(s.Now(), a.last.At), a.closed)
	}
	if a.done || a.first.Frame == 0 || a.oneSided {
		return
	}
	now := max(s.Now(), a.last.At)
	at := *s // the proof is the last packet of the handshake
	at.At, at.FrameNo = a.last.At, a.last.Frame
	waited := finding.Num(float64(now-a.first.At) / second)
	switch {
	case a.failure != "" || now-a.first.At < stalled:
	case a.answer.Frame == 0 && a.session.Client != nil:
		a.failure = "no answer"
		at.Report(NoAnswer, finding.Text(a.session.SNI()), waited, finding.Num(a.clientPackets), finding.Text(versionName(a.version)))
	case a.answer.Frame != 0 && !a.closed:
		a.failure = "stalled"
		at.Report(HandshakeStalled, finding.Text(a.session.SNI()), waited, finding.Num(1-a.lastFrom))
	}
	if a.failure != "" {
		a.exchange(&at)
	}
}
