package dtls

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/seal"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// keys is the decryption of a connection with the secrets of a key log. Without
// them it stays empty and costs one look-up.
type keys struct {
	opener [2]seal.Opener
	asked  bool
	failed int
}

const (
	labelMaster = "CLIENT_RANDOM" // draft-ietf-tls-keylogfile
	maxFailed   = 32
	firstEpoch  = 1 // the first that is encrypted; a renegotiation has others
)

// ask looks for the secret when the first encrypted record comes.
func (k *keys) ask(s *proto.Scope, h *handshake.Session) {
	if k.asked || h.Server == nil || h.Client == nil {
		return
	}
	k.asked = true
	suite := seal.SuiteOf(h.Server.Cipher)
	master := s.Secret(h.Client.Random[:], labelMaster)
	if suite == nil || master == nil || h.V13() {
		return
	}
	version := uint16(tlsmsg.TLS12)
	if h.Server.Version == tlsmsg.DTLS10 {
		version = tlsmsg.TLS11 // of which it is the datagram form (RFC 4347, 1)
	}
	for _, dir := range [2]flow.Dir{flow.ToServer, flow.ToClient} {
		k.opener[dir] = suite.Open12(master, h.Client.Random[:], h.Server.Random[:], version, dir, h.Server.EncryptThenMAC)
	}
}

// open takes the protection off a record. Its number is in it, with the epoch in
// the upper bits (RFC 6347, 4.1.2.1).
func (k *keys) open(s *proto.Scope, h *handshake.Session, dir flow.Dir, r *record) (plain []byte, ok bool) {
	k.ask(s, h)
	if k.opener[dir] == nil || r.epoch != firstEpoch || k.failed >= maxFailed || r.short() {
		return nil, false
	}
	plain, ok = k.opener[dir].Open(r.number, r.typ, r.version, r.body)
	if !ok {
		k.failed++
		return nil, false
	}
	s.Attr("tls.decrypted", "yes")
	return plain, true
}
