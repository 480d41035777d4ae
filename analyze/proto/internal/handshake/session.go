package handshake

import (
	"bytes"
	"strings"
	"time"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Thresholds, ns. Reasons stand in the Docs of the codes.
const (
	second  = int64(time.Second)
	stalled = second
	slow    = second
	ms      = float64(time.Millisecond)
)

// When is the capture's time and frame of a message.
type When struct {
	At    int64
	Frame uint64
}

// Session is one handshake and what followed.
type Session struct {
	Transport byte // tlsmsg.OverTCP or OverDTLS
	Client    *tlsmsg.Client
	Server    *tlsmsg.Server

	hello, helloEnd When // ClientHello, first and last byte
	answer          When // first handshake message of the server
	flight          When // last handshake message (or encrypted record) of the server before the client's
	reply           When // the client's next after that
	last            When // last message of the handshake
	lastDir         flow.Dir
	stage           string
	done            bool
	data            bool // the client sent data
	failed          bool // an alert or a foreign answer explained the end
	failure         string
	ccs             [2]bool
	finished        [2]bool
	certs           bool          // the server's certificate was seen
	chain           *tlsmsg.Chain // of the server; nil: not seen, or not readable
	chainAt         int64
	serverEncrypted bool // TLS 1.3: encrypted messages of the server
	answered        bool
	oneSided        bool // the client went on although no answer was seen
	earlyKnown      bool // what became of early data
	exchanged       bool
}

// Done reports whether the handshake is complete.
func (h *Session) Done() bool { return h.done }

// V13 reports whether TLS 1.3 (or DTLS 1.3) was agreed on.
func (h *Session) V13() bool {
	if h.Server == nil {
		return false
	}
	v := h.Server.Version
	return v == tlsmsg.TLS13 || v == tlsmsg.DTLS13 || v>>8 == 0x7f
}

// Encrypted reports whether handshake messages of a direction cannot be read
// any more.
func (h *Session) Encrypted(dir flow.Dir) bool { return h.ccs[dir] }

// CID is the length of the connection ids in protected records of a direction (RFC
// 9146, 3): that which the receiver chose, if both sides want them. 0: there are none.
func (h *Session) CID(dir flow.Dir) int {
	if h.Client == nil || h.Server == nil || h.Client.CID < 0 || h.Server.CID < 0 {
		return 0
	}
	if dir == flow.ToServer {
		return h.Server.CID
	}
	return h.Client.CID
}

// SNI is the name asked for.
func (h *Session) SNI() string {
	if h.Client == nil {
		return ""
	}
	return h.Client.SNI
}

// Message takes one whole handshake message: body without its header, began is
// when its first byte came.
func (h *Session) Message(s *proto.Scope, dir flow.Dir, typ uint8, body []byte, began When) {
	now := When{s.Now(), s.Frame()}
	switch typ {
	case tlsmsg.TypeClientHello:
		h.clientHello(s, body, began, now)
	case tlsmsg.TypeServerHello:
		h.serverHello(s, body)
	case tlsmsg.TypeCertificate:
		h.certificate(s, dir, body)
	case tlsmsg.TypeCertificateStatus:
		if der, ok := tlsmsg.StapledStatus(body); ok {
			Status(s, h.SNI(), der, true)
		}
	case tlsmsg.TypeEncryptedExtensions:
		if x, ok := tlsmsg.ParseEncryptedExtensions(body); ok {
			h.granted(s, &x)
		}
	}
	if !h.done {
		h.progress(dir, stageName(typ), now)
		if typ == tlsmsg.TypeFinished { // decrypted
			h.finish(s, dir, now)
		}
	}
}

func stageName(typ uint8) string {
	switch typ {
	case tlsmsg.TypeClientHello:
		return "ClientHello"
	case tlsmsg.TypeServerHello:
		return "ServerHello"
	case tlsmsg.TypeHelloVerifyRequest:
		return "HelloVerifyRequest"
	case tlsmsg.TypeCertificate:
		return "Certificate"
	case tlsmsg.TypeServerKeyExchange:
		return "ServerKeyExchange"
	case tlsmsg.TypeCertificateRequest:
		return "CertificateRequest"
	case tlsmsg.TypeServerHelloDone:
		return "ServerHelloDone"
	case tlsmsg.TypeClientKeyExchange:
		return "ClientKeyExchange"
	case tlsmsg.TypeFinished:
		return "Finished"
	}
	return "handshake message"
}

// progress notes who spoke last.
func (h *Session) progress(dir flow.Dir, stage string, now When) {
	h.stage, h.last, h.lastDir = stage, now, dir
	if dir == flow.ToClient {
		if !h.answered {
			h.answered, h.answer = true, now
		}
		if h.reply.Frame == 0 {
			h.flight = now
		}
	} else if stage != "ClientHello" {
		h.oneSided = h.oneSided || !h.answered
		if h.answered && h.reply.Frame == 0 {
			h.reply = now
		}
	}
}

func (h *Session) clientHello(s *proto.Scope, body []byte, began, now When) {
	c, sni, ok := proto.Kept[tlsmsg.Hellos](s).Client(body, h.Transport)
	if !ok {
		s.Malformed("ClientHello contradicts its own lengths")
	}
	if h.Client != nil {
		return // after a retry, or a renegotiation
	}
	c.SNI = s.Word(sni)
	h.Client = &c
	h.hello, h.helloEnd = began, now
	if c.SNI != "" {
		s.Name(c.SNI)
		s.Attr("tls.sni", c.SNI)
	}
	if len(c.ALPN) > 0 {
		s.Attr("tls.alpn.offered", c.Offered)
	}
	s.Attr("tls.version.offered", c.MaxName)
	s.Attr("tls.ja3", c.JA3)
	s.Attr("tls.ja4", c.JA4)
	if c.ECH {
		s.Attr("tls.ech", "offered")
	}
	if c.EarlyData {
		s.Attr("tls.early_data.offered", "yes")
	}
}

// early tells what became of early data, once it is known; refused is why it was not
// taken, empty: it was.
func (h *Session) early(s *proto.Scope, refused string) {
	if h.Client == nil || !h.Client.EarlyData || h.earlyKnown {
		return
	}
	h.earlyKnown = true
	if refused == "" {
		s.Attr("tls.early_data", "accepted")
		return
	}
	s.Attr("tls.early_data", "refused")
	s.Report(EarlyDataRefused, finding.Text(h.SNI()), finding.Text(refused))
}

// granted takes EncryptedExtensions, which a key log opens.
func (h *Session) granted(s *proto.Scope, x *tlsmsg.Accepted) {
	if len(x.ALPN) > 0 {
		s.Attr("tls.alpn", s.Word(x.ALPN))
	}
	if x.EarlyData {
		h.early(s, "")
	} else {
		h.early(s, "the session is resumed without it")
	}
}

// OldHello takes a ClientHello in the form of SSL 2 (RFC 5246, E.2) that offers a
// version.
func (h *Session) OldHello(s *proto.Scope, version uint16, began When) {
	if h.Client != nil {
		return
	}
	h.Client = &tlsmsg.Client{Identity: &tlsmsg.Identity{Max: version, CID: -1}}
	h.hello, h.helloEnd = began, When{s.Now(), s.Frame()}
	s.Attr("tls.version.offered", tlsmsg.VersionName(version))
	h.progress(flow.ToServer, "ClientHello", h.helloEnd)
}

func (h *Session) serverHello(s *proto.Scope, body []byte) {
	c, ja3s, ok := proto.Kept[tlsmsg.Hellos](s).Server(body)
	if !ok {
		s.Malformed("ServerHello contradicts its own lengths")
		return
	}
	if c.Retry {
		h.early(s, "another ClientHello is wanted")
		if c.Group == 0 { // the client shall prove its address (RFC 9147, 5.1)
			s.Attr("tls.hello_retry", "cookie")
			return
		}
		s.Report(HelloRetry, finding.Text(h.SNI()), finding.Num(c.Group))
		s.Attr("tls.hello_retry", "yes")
		return
	}
	if h.Server != nil {
		return // renegotiation
	}
	h.Server = &tlsmsg.Server{Version: c.Negotiated(), Cipher: c.Cipher, EncryptThenMAC: c.EncryptThenMAC, CID: c.CID, Random: c.Random}
	version := tlsmsg.VersionName(c.Negotiated())
	s.Attr("tls.version", version)
	s.Attr("tls.cipher", tlsmsg.CipherName(c.Cipher))
	s.Attr("tls.ja3s", ja3s)
	if len(c.ALPN) > 0 {
		s.Attr("tls.alpn", s.Word(c.ALPN))
	}
	if c.PSK {
		s.Attr("tls.resumed", "psk")
	} else {
		h.early(s, "the session is not resumed")
	}
	if old(c.Negotiated()) {
		s.Report(OldVersion, finding.Text(h.SNI()), finding.Text(version), finding.Text(h.clientMax()))
	}
	if why := tlsmsg.WeakCipher(c.Cipher); why != "" {
		s.Report(WeakCipher, finding.Text(h.SNI()), finding.Text(tlsmsg.CipherName(c.Cipher)), finding.Text(why))
	}
}

func old(v uint16) bool { return v < tlsmsg.TLS12 || v == tlsmsg.DTLS10 }

func (h *Session) clientMax() string {
	if h.Client == nil {
		return ""
	}
	return tlsmsg.VersionName(h.Client.Max)
}

// certificate judges the server's chain at the capture's time.
func (h *Session) certificate(s *proto.Scope, dir flow.Dir, body []byte) {
	r, ok := proto.Kept[tlsmsg.Chains](s).Read(body, h.V13())
	for _, name := range r.Schemas {
		s.Carries(name)
	}
	if dir == flow.ToServer || h.certs {
		return
	}
	h.certs = true
	if !ok {
		s.Malformed("certificate message contradicts its own lengths")
	}
	c := r.Judge(h.SNI(), time.Unix(0, s.Now()))
	if c == nil {
		return
	}
	h.chain, h.chainAt = c, s.Now()
	sni, subject, issuer := finding.Text(h.SNI()), finding.Text(c.Subject), finding.Text(c.Issuer)
	s.Attr("tls.certificate.subject", c.Subject)
	s.Attr("tls.certificate.issuer", c.Issuer)
	s.Attr("tls.certificate.not_after", c.Until)
	if c.Expired >= 0 {
		s.Report(CertExpired, sni, subject, issuer, finding.Text(c.Until),
			finding.Num(float64(s.Now()-c.NotAfter.UnixNano())/float64(second)), finding.Num(c.Expired))
	}
	if c.NotYetValid == 0 {
		s.Report(CertNotYetValid, sni, subject, issuer, finding.Text(c.NotBefore.UTC().Format(time.RFC3339)),
			finding.Num(float64(c.NotBefore.UnixNano()-s.Now())/float64(second)))
	}
	if !c.NameFits {
		s.Report(CertNameMismatch, sni, subject, finding.Text(strings.Join(c.Names, " ")))
	}
	if c.WeakKey != "" {
		s.Report(CertWeak, sni, subject, finding.Text(c.WeakKey))
	}
	switch {
	case c.SelfSigned:
		s.Report(CertSelfSigned, sni, subject)
	case c.Length == 1:
		s.Report(CertNoIntermediate, sni, subject, issuer)
	case !c.Ordered:
		s.Report(CertChainBroken, sni, subject, finding.Num(c.Length))
	}
}

// ChangeCipher takes a ChangeCipherSpec: what follows in this direction is
// encrypted. In TLS 1.3 it means nothing (RFC 8446, D.4).
func (h *Session) ChangeCipher(s *proto.Scope, dir flow.Dir) {
	if h.V13() || h.Server == nil && h.Client != nil && !h.oneSided {
		h.oneSided = h.oneSided || !h.answered && dir == flow.ToServer && !h.Client.EarlyData
		return // before a ServerHello it can only be the compatibility mode of TLS 1.3
	}
	h.ccs[dir] = true
	if dir == flow.ToClient && !h.certs && h.Server != nil && !h.done && h.Client != nil {
		s.Attr("tls.resumed", "session")
	}
	if !h.done {
		h.progress(dir, "ChangeCipherSpec", When{s.Now(), s.Frame()})
	}
}

// Sealed takes a record that cannot be read: its type and length on the wire.
func (h *Session) Sealed(s *proto.Scope, dir flow.Dir, typ uint8, n int) {
	now := When{s.Now(), s.Frame()}
	if dir == flow.ToServer && !h.answered && h.Client != nil && !h.Client.EarlyData {
		h.oneSided = true
	}
	switch {
	case typ == RecordAlert:
		h.sealedAlert(s, dir)
	case h.done:
		if typ == RecordData && dir == flow.ToServer && (n != sealedAlert13 || !h.V13()) {
			h.data = true
		}
	case typ == RecordHandshake: // TLS 1.2: Finished
		h.progress(dir, "Finished", now)
		h.finish(s, dir, now)
	case typ != RecordData:
	case !h.V13():
		// Data before both Finished were seen: the capture missed some.
		if h.Server != nil && h.ccs[dir] {
			h.progress(dir, "data", now)
			h.complete(s, now)
		}
	case dir == flow.ToClient:
		h.serverEncrypted = true
		h.progress(dir, "encrypted messages of the server", now)
	case n == sealedAlert13 && h.answered:
		h.sealedAlert(s, dir)
	case h.answered && (h.Client == nil || !h.Client.EarlyData || h.serverEncrypted):
		h.progress(dir, "Finished", now)
		h.complete(s, now)
	}
}

// Types of records (RFC 8446, 5.1).
const (
	RecordChangeCipher = 20
	RecordAlert        = 21
	RecordHandshake    = 22
	RecordData         = 23
	RecordHeartbeat    = 24 // RFC 6520
)

// sealedAlert13 is the length of an encrypted alert in TLS 1.3: two bytes, the
// inner type and a tag of 16 (RFC 8446, 5.2); a Finished has 53 or 69.
const sealedAlert13 = 2 + 1 + 16

func (h *Session) sealedAlert(s *proto.Scope, dir flow.Dir) {
	if h.done || h.failed || h.oneSided {
		return
	}
	if h.Client == nil && h.Server == nil {
		return // begun before the capture: so it ends
	}
	h.failed, h.failure = true, "encrypted alert"
	s.Report(EncryptedAlert, bit(dir == flow.ToClient), finding.Num(1), finding.Text(h.SNI()),
		bit(dir == flow.ToServer && (h.certs || h.serverEncrypted)))
}

// Data notes decrypted data of the client.
func (h *Session) Data(dir flow.Dir) { h.data = h.data || dir == flow.ToServer }

// finish notes a Finished of one direction.
func (h *Session) finish(s *proto.Scope, dir flow.Dir, now When) {
	h.finished[dir] = true
	if h.finished[0] && h.finished[1] {
		h.complete(s, now)
	}
}

func (h *Session) complete(s *proto.Scope, now When) {
	h.done = true
	h.last = now
	if h.Client == nil || h.hello.Frame == 0 {
		return
	}
	took := now.At - h.hello.At
	if took >= slow {
		s.Report(HandshakeSlow, finding.Text(h.SNI()), finding.Num(float64(took)/ms),
			finding.Num(h.serverTime()), finding.Num(h.clientTime()))
	}
	h.exchange(s)
}

func (h *Session) serverTime() float64 {
	if !h.answered {
		return 0
	}
	return float64(max(h.answer.At-h.helloEnd.At, 0)) / ms
}

func (h *Session) clientTime() float64 {
	if h.reply.Frame == 0 || h.flight.Frame == 0 {
		return 0
	}
	return float64(max(h.reply.At-h.flight.At, 0)) / ms
}

// exchange hands over the handshake as a question and its answer.
func (h *Session) exchange(s *proto.Scope) {
	if h.exchanged || h.hello.Frame == 0 {
		return
	}
	h.exchanged = true
	x := conn.Exchange{
		Protocol: "tls", Label: Label(s, h.SNI()), Code: "done", Complete: h.done,
		ReqStart: h.hello.At, ReqEnd: h.helloEnd.At, ReqFrame: h.hello.Frame, ReqLast: h.helloEnd.Frame,
	}
	if h.answered {
		x.RespStart, x.RespFrame = h.answer.At, h.answer.Frame
		x.RespEnd, x.RespLast = h.last.At, h.last.Frame
	}
	if !h.done {
		x.Failed, x.Code = true, h.failure
	}
	s.Exchange(&x)
}

// Label is what a handshake is called that asks for a name.
func Label(s *proto.Scope, sni string) string {
	var room [len("handshake ") + 255]byte
	return s.Word(bytes.TrimSpace(append(append(room[:0], "handshake "...), sni...)))
}

// Status reports an OCSP response that says that a certificate was revoked.
func Status(s *proto.Scope, sni string, der []byte, stapled bool) {
	r, revoked := tlsmsg.Revoked(der)
	if !revoked {
		return
	}
	s.Report(CertRevoked, finding.Text(sni), finding.Text(r.Serial), finding.Text(r.At.UTC().Format(time.RFC3339)),
		finding.Text(tlsmsg.ReasonName(r.Reason)), bit(stapled))
}

func bit(b bool) finding.Value {
	if b {
		return finding.Num(1)
	}
	return finding.Num(0)
}
