package quic

import (
	"slices"
	"strings"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Labels of the key log (draft-ietf-tls-keylogfile).
const (
	labelClientHandshake = "CLIENT_HANDSHAKE_TRAFFIC_SECRET"
	labelServerHandshake = "SERVER_HANDSHAKE_TRAFFIC_SECRET"
	labelClientTraffic   = "CLIENT_TRAFFIC_SECRET_0"
	labelServerTraffic   = "SERVER_TRAFFIC_SECRET_0"
	labelEarlyTraffic    = "CLIENT_EARLY_TRAFFIC_SECRET"
)

// maxFailed bounds the packets that are tried in vain: the secrets are others'.
const maxFailed = 64

// secure is what the secrets of a key log open.
type secure struct {
	suite     suite
	early     *keys    // of 0-RTT packets
	handshake [2]*keys // by sender
	largest   [2]uint64
	crypto    [2]stream // of Handshake packets
	late      [2]stream // of packets with data: tickets, which nobody needs
	data      [2]traffic
	failed    int
	h3        *http3
}

// traffic is what protects the data of one sender.
type traffic struct {
	keys    *keys
	secret  []byte
	phase   byte // bit of the header
	largest uint64
	heard   bool // a packet was opened
	header  *keys
}

const phaseBit = 0x04 // RFC 9000, 17.3.1

// unlock looks for the secrets once the ServerHello is known.
func (a *analyzer) unlock(s *proto.Scope) {
	h := &a.session
	if a.asked || h.Server == nil || h.Client == nil {
		return
	}
	a.asked = true
	c, ok := suiteOf(h.Server.Cipher)
	if !ok {
		return
	}
	x := a.secure
	found := x != nil
	if !found {
		x = &secure{}
	}
	x.suite = c
	for from, labels := range [2][2]string{{labelClientHandshake, labelClientTraffic}, {labelServerHandshake, labelServerTraffic}} {
		x.handshake[from] = c.keys(a.version, s.Secret(h.Client.Random[:], labels[0]))
		t := &x.data[from]
		t.secret = s.Secret(h.Client.Random[:], labels[1])
		t.keys = c.keys(a.version, t.secret)
		t.header = t.keys
		found = found || x.handshake[from] != nil || t.keys != nil
	}
	if found {
		a.secure = x
	}
}

// sealedEarly opens a 0-RTT packet (RFC 9000, 17.2.3). The suite is that of the session
// resumed: which one, the length of the secret tells, and whether the packet opens.
func (a *analyzer) sealedEarly(s *proto.Scope, p *long) {
	h := &a.session
	if h.Client == nil || a.secure != nil && a.secure.failed >= maxFailed {
		return // the ClientHello comes before, in the same datagram as a rule
	}
	if a.secure != nil && a.secure.early != nil {
		a.openEarly(s, a.secure.early, p)
		return
	}
	secret := s.Secret(h.Client.Random[:], labelEarlyTraffic)
	if secret == nil {
		return
	}
	if a.secure == nil {
		a.secure = &secure{}
	}
	for _, id := range [...]uint16{0x1301, 0x1302, 0x1303} {
		c, _ := suiteOf(id)
		if c.hash().Size() != len(secret) {
			continue
		}
		if k := c.keys(a.version, secret); k != nil && a.openEarly(s, k, p) {
			a.secure.early = k
			return
		}
	}
}

// openEarly reads a 0-RTT packet; its number is of the same space as those of data.
func (a *analyzer) openEarly(s *proto.Scope, k *keys, p *long) bool {
	x := a.secure
	t := &x.data[0]
	o, head, ok := k.peek(s, p.whole, p.pn, t.largest)
	if !ok || !k.open(s, &o, p.whole, head) {
		x.failed++
		return false
	}
	t.largest = max(t.largest, o.number)
	s.Attr("tls.decrypted", "yes")
	w := a.web()
	w.early = true
	a.inside(s, 0, o.frames, &x.late[0])
	w.early = false
	return true
}

// sealedHandshake opens a Handshake packet (RFC 9000, 17.2.4).
func (a *analyzer) sealedHandshake(s *proto.Scope, from int, p *long) {
	x := a.secure
	if x == nil || x.handshake[from] == nil || x.failed >= maxFailed {
		return
	}
	k := x.handshake[from]
	o, head, ok := k.peek(s, p.whole, p.pn, x.largest[from])
	if !ok || !k.open(s, &o, p.whole, head) {
		x.failed++
		return
	}
	x.largest[from] = max(x.largest[from], o.number)
	s.Attr("tls.decrypted", "yes")
	a.inside(s, from, o.frames, &x.crypto[from])
}

// sealedData opens a packet of data (RFC 9000, 17.3.1).
func (a *analyzer) sealedData(s *proto.Scope, from int, b []byte) {
	x := a.secure
	if x == nil || x.data[from].keys == nil || x.failed >= maxFailed || a.cid[1-from] < 0 {
		return
	}
	t := &x.data[from]
	o, head, ok := t.header.peek(s, b, 1+a.cid[1-from], t.largest)
	if !ok {
		return
	}
	use, secret := t.keys, t.secret
	if o.first&phaseBit != t.phase { // the keys changed (RFC 9001, 6), or a packet is late
		secret = tlsmsg.ExpandLabel(x.suite.hash, t.secret, prefix(a.version)+"ku", len(t.secret))
		if use = x.suite.update(a.version, secret); use == nil {
			return
		}
	}
	if !use.open(s, &o, b, head) {
		x.failed++
		return
	}
	if use != t.keys {
		t.keys, t.secret, t.phase = use, secret, o.first&phaseBit
	}
	t.heard = true
	t.largest = max(t.largest, o.number)
	x.failed = 0
	s.Attr("tls.decrypted", "yes")
	a.inside(s, from, o.frames, &x.late[from])
}

// inside reads the frames of a packet that the secrets opened (RFC 9000, 19).
func (a *analyzer) inside(s *proto.Scope, from int, b []byte, crypto *stream) {
	r := reader{b: b}
	for r.padding(); len(r.b) > 0 && !r.bad; r.padding() {
		if !a.frame(s, from, &r, r.varint(), crypto) {
			return // of an extension that is not known: nor is its length
		}
	}
	if r.bad {
		s.Malformed("QUIC frame that runs past its packet")
	}
}

// frame reads one frame; false: it is of no known type.
func (a *analyzer) frame(s *proto.Scope, from int, r *reader, typ uint64, crypto *stream) bool {
	switch typ {
	case 0x00, 0x01, 0x1e, 0xac: // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
	case 0x02, 0x03: // ACK
		r.ack(typ == 0x03)
	case 0x06: // CRYPTO
		off, n := r.varint(), r.varint()
		if data := r.bytes(n); !r.bad {
			crypto.add(off, data)
			a.messages(s, from, crypto)
		}
	case 0x07: // NEW_TOKEN
		r.bytes(r.varint())
	case 0x04: // RESET_STREAM
		id, code := r.varint(), r.varint()
		r.varint()
		if !r.bad {
			a.web().reset(s, from, id, code)
		}
	case 0x05, 0x11, 0x15: // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
		r.varint()
		r.varint()
	case 0x10, 0x12, 0x13, 0x14, 0x16, 0x17, 0x19, 0x02f5: // limits, RETIRE_CONNECTION_ID, TIMESTAMP
		r.varint()
	case 0x18: // NEW_CONNECTION_ID
		r.varint()
		r.varint()
		n := r.bytes(1)
		if !r.bad {
			r.bytes(uint64(n[0]) + 16)
		}
	case 0x1a, 0x1b: // PATH_CHALLENGE, PATH_RESPONSE
		r.bytes(8)
	case 0x1c, 0x1d: // CONNECTION_CLOSE
		code := r.varint()
		if typ == 0x1c {
			r.varint()
		}
		if reason := r.bytes(r.varint()); !r.bad {
			a.closing(s, from, code, reason, typ == 0x1d)
		}
	case 0x30: // DATAGRAM (RFC 9221)
		r.b = nil
	case 0x31:
		r.bytes(r.varint())
	case 0xaf: // ACK_FREQUENCY
		for range 4 {
			r.varint()
		}
	default:
		if typ < 0x08 || typ > 0x0f {
			return false
		}
		a.streamFrame(s, from, r, typ)
	}
	return true
}

// streamFrame reads a STREAM frame (RFC 9000, 19.8).
func (a *analyzer) streamFrame(s *proto.Scope, from int, r *reader, typ uint64) {
	const withOffset, withLength, fin = 4, 2, 1
	id, off := r.varint(), uint64(0)
	if typ&withOffset != 0 {
		off = r.varint()
	}
	n := uint64(len(r.b))
	if typ&withLength != 0 {
		n = r.varint()
	}
	if data := r.bytes(n); !r.bad {
		a.web().data(s, from, id, off, data, typ&fin != 0)
	}
}

// web is what reads the streams: HTTP/3, unless the client wanted something else.
func (a *analyzer) web() *http3 {
	if a.secure.h3 == nil {
		a.secure.h3 = newHTTP3()
		if c := a.session.Client; c != nil && len(c.ALPN) > 0 && !slices.ContainsFunc(c.ALPN, isHTTP3) {
			a.secure.h3.foreign = true
		}
	}
	return a.secure.h3
}

func isHTTP3(alpn string) bool { return strings.HasPrefix(alpn, "h3") }

// messages takes the handshake messages that are whole.
func (a *analyzer) messages(s *proto.Scope, from int, crypto *stream) {
	at, frame := s.Began()
	for {
		typ, body, ok := crypto.message()
		if !ok {
			return
		}
		if a.veiled = a.veiled && from == 0; !a.veiled {
			s.Carries("tls") // as Wireshark counts it
		}
		// Tickets are nobody's concern, and the handshake is timed by its packets.
		if typ != tlsmsg.TypeFinished && (crypto == &a.crypto[from] || crypto == &a.secure.crypto[from]) {
			a.session.Message(s, direction(from), typ, body, handshake.When{At: at, Frame: frame})
		}
	}
}
