package tls

import (
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/handshake"
	"netwhy/analyze/proto/internal/seal"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// Labels of the NSS key log (draft-ietf-tls-keylogfile).
const (
	labelMaster          = "CLIENT_RANDOM"
	labelClientHandshake = "CLIENT_HANDSHAKE_TRAFFIC_SECRET"
	labelServerHandshake = "SERVER_HANDSHAKE_TRAFFIC_SECRET"
	labelClientTraffic   = "CLIENT_TRAFFIC_SECRET_0"
	labelServerTraffic   = "SERVER_TRAFFIC_SECRET_0"
)

// keys is the decryption of a connection, both directions. Without secrets it
// stays empty and costs one look-up a handshake.
type keys struct {
	suite  *seal.Suite
	v13    bool
	asked  bool // secrets were looked for after the ServerHello
	none   bool // and are not there
	dir    [2]direction
	master []byte
}

// direction is the state of one direction.
type direction struct {
	opener seal.Opener
	seq    uint64
	secret []byte // TLS 1.3: for KeyUpdate
	unsure bool   // after a gap the sequence number is not known
	failed uint8
}

// Bounds of guessing after a gap and of giving up.
const (
	maxAhead  = 64 // records that may be missing
	maxFailed = 32
)

// ask looks for the secrets once both hellos are known.
func (k *keys) ask(s *proto.Scope, h *handshake.Session) {
	if k.asked || h.Server == nil || h.Client == nil {
		return
	}
	k.asked = true
	k.suite = seal.SuiteOf(h.Server.Cipher)
	if k.suite == nil {
		k.none = true
		return
	}
	k.v13 = h.V13()
	if k.v13 {
		for dir, label := range [2]string{labelClientHandshake, labelServerHandshake} {
			k.dir[dir].set(k.suite, s.Secret(h.Client.Random[:], label))
		}
		k.none = k.dir[0].opener == nil && k.dir[1].opener == nil &&
			s.Secret(h.Client.Random[:], labelClientTraffic) == nil && s.Secret(h.Client.Random[:], labelServerTraffic) == nil
		return
	}
	k.master = s.Secret(h.Client.Random[:], labelMaster)
	k.none = k.master == nil
}

// wanted reports whether records of data have to be kept whole: somebody can
// decrypt them.
func (k *keys) wanted(s *proto.Scope, h *handshake.Session, dir flow.Dir) bool {
	k.ask(s, h)
	if !k.asked || k.none || k.dir[dir].failed >= maxFailed {
		return false
	}
	return k.dir[dir].opener != nil || k.v13
}

// change starts the encryption of TLS 1.2 in one direction.
func (k *keys) change(s *proto.Scope, h *handshake.Session, dir flow.Dir) {
	k.ask(s, h)
	if k.none || k.master == nil || h.Server == nil || k.dir[dir].opener != nil {
		return
	}
	k.dir[dir].opener = k.suite.Open12(k.master, h.Client.Random[:], h.Server.Random[:], h.Server.Version, dir, h.Server.EncryptThenMAC)
	k.dir[dir].seq = 0
}

// message follows the messages that change keys in TLS 1.3.
func (k *keys) message(s *proto.Scope, h *handshake.Session, dir flow.Dir, typ uint8) {
	if !k.v13 || k.none {
		return
	}
	d := &k.dir[dir]
	switch typ {
	case tlsmsg.TypeFinished:
		label := labelClientTraffic
		if dir == flow.ToClient {
			label = labelServerTraffic
		}
		d.set(k.suite, s.Secret(h.Client.Random[:], label))
	case tlsmsg.TypeKeyUpdate:
		d.set(k.suite, k.suite.Update(d.secret))
	}
}

func (d *direction) set(c *seal.Suite, secret []byte) {
	*d = direction{secret: secret}
	if secret != nil {
		d.opener = c.Open13(secret)
	}
}

func (k *keys) resync(dir flow.Dir) { k.dir[dir].unsure = true }

// open decrypts one record; inner is its true type (TLS 1.3).
func (a *analyzer) open(s *proto.Scope, dir flow.Dir, typ uint8, version uint16, body []byte) (plain []byte, inner uint8, ok bool) {
	k := &a.keys
	k.ask(s, &a.session)
	d := &k.dir[dir]
	if d.opener == nil && k.v13 && !k.none && typ == handshake.RecordData && !a.session.Done() {
		return nil, 0, false
	}
	if d.opener == nil || d.failed >= maxFailed {
		return nil, 0, false
	}
	tries := uint64(1)
	if d.unsure {
		tries = maxAhead
	}
	for i := range tries {
		if plain, ok = d.opener.Open(d.seq+i, typ, version, body); ok {
			s.Attr("tls.decrypted", "yes")
			d.seq += i + 1
			d.unsure, d.failed = false, 0
			break
		}
	}
	if !ok {
		if k.v13 && !d.unsure && a.later(s, dir) {
			return a.open(s, dir, typ, version, body)
		}
		d.failed++
		d.seq++
		d.unsure = true
		return nil, 0, false
	}
	if !k.v13 {
		return plain, typ, true
	}
	for len(plain) > 0 && plain[len(plain)-1] == 0 { // padding (RFC 8446, 5.4)
		plain = plain[:len(plain)-1]
	}
	if len(plain) == 0 {
		return nil, 0, false
	}
	return plain[:len(plain)-1], plain[len(plain)-1], true
}

// later changes from handshake to traffic keys when the Finished was not seen,
// and tells whether it did.
func (a *analyzer) later(s *proto.Scope, dir flow.Dir) bool {
	k := &a.keys
	label := labelClientTraffic
	if dir == flow.ToClient {
		label = labelServerTraffic
	}
	secret := s.Secret(a.session.Client.Random[:], label)
	if secret == nil || string(secret) == string(k.dir[dir].secret) {
		return false
	}
	k.dir[dir].set(k.suite, secret)
	k.dir[dir].unsure = true
	return true
}
