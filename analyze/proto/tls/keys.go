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
	asked bool     // secrets were looked for after the ServerHello
	v13   bool     // TLS 1.3, then
	found *secrets // nil: there are none
}

// secrets is what a connection with secrets has.
type secrets struct {
	suite  *seal.Suite
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
	k.asked, k.v13 = true, h.V13()
	random := h.Client.Random[:]
	if !k.v13 {
		if master := s.Secret(random, labelMaster); master != nil {
			k.keep(h, &secrets{master: master})
		}
		return
	}
	first := [2][]byte{s.Secret(random, labelClientHandshake), s.Secret(random, labelServerHandshake)}
	if first[0] == nil && first[1] == nil && s.Secret(random, labelClientTraffic) == nil && s.Secret(random, labelServerTraffic) == nil {
		return
	}
	k.keep(h, &secrets{})
	for dir := range first {
		if k.found != nil {
			k.found.dir[dir].set(k.found.suite, first[dir])
		}
	}
}

// keep takes secrets that were found, if the suite is one that can be decrypted.
func (k *keys) keep(h *handshake.Session, x *secrets) {
	if x.suite = seal.SuiteOf(h.Server.Cipher); x.suite != nil {
		k.found = x
	}
}

// wanted reports whether records of data have to be kept whole: somebody can
// decrypt them.
func (k *keys) wanted(s *proto.Scope, h *handshake.Session, dir flow.Dir) bool {
	k.ask(s, h)
	return k.found != nil && k.found.dir[dir].failed < maxFailed && (k.v13 || k.opens(dir))
}

// opens reports whether records of a direction can be decrypted.
func (k *keys) opens(dir flow.Dir) bool { return k.found != nil && k.found.dir[dir].opener != nil }

// change starts the encryption of TLS 1.2 in one direction.
func (k *keys) change(s *proto.Scope, h *handshake.Session, dir flow.Dir) {
	k.ask(s, h)
	x := k.found
	if x == nil || x.master == nil || k.opens(dir) {
		return
	}
	x.dir[dir].opener = x.suite.Open12(x.master, h.Client.Random[:], h.Server.Random[:], h.Server.Version, dir, h.Server.EncryptThenMAC)
	x.dir[dir].seq = 0
}

// message follows the messages that change keys in TLS 1.3.
func (k *keys) message(s *proto.Scope, h *handshake.Session, dir flow.Dir, typ uint8) {
	x := k.found
	if x == nil || !k.v13 {
		return
	}
	d := &x.dir[dir]
	switch typ {
	case tlsmsg.TypeFinished:
		d.set(x.suite, s.Secret(h.Client.Random[:], traffic(dir)))
	case tlsmsg.TypeKeyUpdate:
		d.set(x.suite, x.suite.Update(d.secret))
	}
}

// traffic is the label of the secret that data of a direction begins with.
func traffic(dir flow.Dir) string {
	if dir == flow.ToClient {
		return labelServerTraffic
	}
	return labelClientTraffic
}

func (d *direction) set(c *seal.Suite, secret []byte) {
	*d = direction{secret: secret}
	if secret != nil {
		d.opener = c.Open13(secret)
	}
}

// resync notes that records of a direction are missing.
func (k *keys) resync(dir flow.Dir) {
	if k.found != nil {
		k.found.dir[dir].unsure = true
	}
}

// open decrypts one record; inner is its true type (TLS 1.3).
func (a *analyzer) open(s *proto.Scope, dir flow.Dir, typ uint8, version uint16, body []byte) (plain []byte, inner uint8, ok bool) {
	k := &a.keys
	if k.ask(s, &a.session); !k.opens(dir) {
		return nil, 0, false
	}
	d := &k.found.dir[dir]
	if d.failed >= maxFailed {
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
	x := a.keys.found
	secret := s.Secret(a.session.Client.Random[:], traffic(dir))
	if secret == nil || string(secret) == string(x.dir[dir].secret) {
		return false
	}
	x.dir[dir].set(x.suite, secret)
	x.dir[dir].unsure = true
	return true
}
