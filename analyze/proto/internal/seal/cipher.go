package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"  //nolint:gosec // TLS 1.0 and 1.1 derive keys with it (RFC 4346, 5)
	"crypto/sha1" //nolint:gosec // the same, and the MAC of many suites
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"

	"netwhy/analyze/flow"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// kind is how a suite protects records.
type kind uint8

const (
	gcm kind = iota
	chacha
	cbc
)

// Suite is what decryption needs to know of a cipher suite; how keys are agreed
// on does not matter to who has them.
type Suite struct {
	kind kind
	key  int
	mac  func() hash.Hash // cbc
	prf  func() hash.Hash // TLS 1.2 PRF and TLS 1.3 HKDF
}

// SuiteOf returns nil for suites that are not decrypted: RC4, 3DES, CCM and
// exotic ones.
func SuiteOf(id uint16) *Suite {
	switch id {
	case 0x1301, 0x009c, 0x009e, 0xc02b, 0xc02d, 0xc02f, 0xc031, 0x00a8, 0x00aa:
		return &Suite{kind: gcm, key: 16, prf: sha256.New}
	case 0x1302, 0x009d, 0x009f, 0xc02c, 0xc02e, 0xc030, 0xc032, 0x00a9, 0x00ab:
		return &Suite{kind: gcm, key: 32, prf: sha512.New384}
	case 0x1303, 0xcca8, 0xcca9, 0xccaa, 0xccab, 0xccac, 0xccad:
		return &Suite{kind: chacha, key: 32, prf: sha256.New}
	case 0x002f, 0x0031, 0x0032, 0x0033, 0x0034, 0xc004, 0xc009, 0xc00e, 0xc013, 0xc018, 0x008c:
		return &Suite{kind: cbc, key: 16, mac: sha1.New, prf: sha256.New}
	case 0x0035, 0x0037, 0x0038, 0x0039, 0x003a, 0xc005, 0xc00a, 0xc00f, 0xc014, 0xc019, 0x008d:
		return &Suite{kind: cbc, key: 32, mac: sha1.New, prf: sha256.New}
	case 0x003c, 0x003f, 0x0040, 0x0067, 0x006c, 0xc023, 0xc025, 0xc027, 0xc029, 0x00ae:
		return &Suite{kind: cbc, key: 16, mac: sha256.New, prf: sha256.New}
	case 0x003d, 0x006a, 0x006b, 0x006d:
		return &Suite{kind: cbc, key: 32, mac: sha256.New, prf: sha256.New}
	case 0xc024, 0xc026, 0xc028, 0xc02a:
		return &Suite{kind: cbc, key: 32, mac: sha512.New384, prf: sha512.New384}
	}
	return nil
}

// Opener takes the protection off one record. The result is the opener's own
// until the next call.
type Opener interface {
	Open(seq uint64, typ uint8, version uint16, body []byte) (plain []byte, ok bool)
}

// Open13 makes the opener of a traffic secret (RFC 8446, 7.3).
func (c *Suite) Open13(secret []byte) Opener {
	key := tlsmsg.ExpandLabel(c.prf, secret, "key", c.key)
	iv := tlsmsg.ExpandLabel(c.prf, secret, "iv", ivLen)
	if key == nil || iv == nil {
		return nil
	}
	a := c.aead(key)
	if a == nil {
		return nil
	}
	return &aead{aead: a, iv: iv, v13: true}
}

// Update makes the next traffic secret (RFC 8446, 7.2).
func (c *Suite) Update(secret []byte) []byte {
	if secret == nil {
		return nil
	}
	return tlsmsg.ExpandLabel(c.prf, secret, "traffic upd", c.prf().Size())
}

const (
	recordHeader = 5 // RFC 8446, 5.1
	ivLen        = 12
	fixedLen     = 4 // GCM in TLS 1.2: part of the nonce that is not sent (RFC 5288, 3)
	randomsLen   = 64
)

// Open12 makes the opener of one direction from the master secret (RFC 5246, 6.3).
func (c *Suite) Open12(master, client, server []byte, version uint16, dir flow.Dir, etm bool) Opener {
	macLen, iv := 0, ivLen
	switch c.kind {
	case gcm:
		iv = fixedLen
	case cbc:
		macLen, iv = c.mac().Size(), aes.BlockSize
	case chacha:
	}
	seed := make([]byte, 0, randomsLen)
	seed = append(append(seed, server...), client...)
	block := expand(version, c.prf, master, "key expansion", seed, 2*(macLen+c.key+iv))
	d := int(dir)
	mac := block[d*macLen : (d+1)*macLen]
	block = block[2*macLen:]
	key := block[d*c.key : (d+1)*c.key]
	block = block[2*c.key:]
	fixed := block[d*iv : (d+1)*iv]
	if c.kind == cbc {
		b, err := aes.NewCipher(key)
		if err != nil {
			return nil
		}
		o := &cbcOpener{block: b, mac: c.mac, key: mac, etm: etm}
		if version <= tlsmsg.TLS10 {
			o.iv, o.chained = fixed, true
		}
		return o
	}
	a := c.aead(key)
	if a == nil {
		return nil
	}
	return &aead{aead: a, iv: fixed, explicit: c.kind == gcm}
}

func (c *Suite) aead(key []byte) cipher.AEAD {
	if c.kind == chacha {
		a, err := chacha20poly1305.New(key)
		if err != nil {
			return nil
		}
		return a
	}
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil
	}
	a, err := cipher.NewGCM(b)
	if err != nil {
		return nil
	}
	return a
}

// aead opens records of AEAD suites.
type aead struct {
	aead     cipher.AEAD
	iv       []byte
	explicit bool // part of the nonce is in the record
	v13      bool
	out      []byte
	nonce    [ivLen]byte
	ad       [13]byte
}

func (a *aead) Open(seq uint64, typ uint8, version uint16, body []byte) ([]byte, bool) {
	head := 0
	if a.explicit {
		head = ivLen - fixedLen
	}
	n := len(body) - head - a.aead.Overhead()
	if n < 0 {
		return nil, false
	}
	nonce := a.nonce[:]
	if a.explicit {
		copy(nonce, a.iv)
		copy(nonce[fixedLen:], body[:head])
	} else {
		copy(nonce, a.iv)
		for i := range 8 {
			nonce[4+i] ^= byte(seq >> (56 - 8*i) & 0xff)
		}
	}
	ad := a.ad[:recordHeader]
	if a.v13 {
		ad[0] = typ
		binary.BigEndian.PutUint16(ad[1:], version)
		binary.BigEndian.PutUint16(ad[3:], uint16(len(body)&0xffff))
	} else {
		ad = a.ad[:]
		binary.BigEndian.PutUint64(ad, seq)
		ad[8] = typ
		binary.BigEndian.PutUint16(ad[9:], version)
		binary.BigEndian.PutUint16(ad[11:], uint16(n&0xffff))
	}
	out, err := a.aead.Open(a.out[:0], nonce, body[head:], ad)
	if err != nil {
		return nil, false
	}
	a.out = out
	return out, true
}

// cbcOpener opens records of CBC suites. A wrong MAC means a wrong guess of the
// sequence number or wrong secrets. Timing is nobody's secret here.
type cbcOpener struct {
	block   cipher.Block
	mac     func() hash.Hash
	key     []byte
	iv      []byte // TLS 1.0: last block of the record before
	chained bool
	etm     bool // encrypt-then-MAC (RFC 7366)
	out     []byte
}

func (c *cbcOpener) Open(seq uint64, typ uint8, version uint16, body []byte) ([]byte, bool) {
	size := c.mac().Size()
	data := body
	if c.etm {
		if len(body) < size {
			return nil, false
		}
		data = body[:len(body)-size]
		if !c.right(seq, typ, version, data, body[len(data):]) {
			return nil, false
		}
	}
	iv := c.iv
	if !c.chained {
		if len(data) < aes.BlockSize {
			return nil, false
		}
		iv, data = data[:aes.BlockSize], data[aes.BlockSize:]
	}
	if len(data) == 0 || len(data)%aes.BlockSize != 0 {
		return nil, false
	}
	c.out = append(c.out[:0], data...)
	out := c.out
	cipher.NewCBCDecrypter(c.block, iv).CryptBlocks(out, out)
	pad := int(out[len(out)-1]) + 1
	if pad > len(out) {
		return nil, false
	}
	out = out[:len(out)-pad]
	if !c.etm {
		if len(out) < size || !c.right(seq, typ, version, out[:len(out)-size], out[len(out)-size:]) {
			return nil, false
		}
		out = out[:len(out)-size]
	}
	if c.chained {
		c.iv = append(c.iv[:0:0], data[len(data)-aes.BlockSize:]...)
	}
	return out, true
}

func (c *cbcOpener) right(seq uint64, typ uint8, version uint16, data, mac []byte) bool {
	var head [13]byte
	binary.BigEndian.PutUint64(head[:], seq)
	head[8] = typ
	binary.BigEndian.PutUint16(head[9:], version)
	binary.BigEndian.PutUint16(head[11:], uint16(len(data)&0xffff))
	h := hmac.New(c.mac, c.key)
	h.Write(head[:])
	h.Write(data)
	return subtle.ConstantTimeCompare(h.Sum(nil), mac) == 1
}

// expand is the PRF of the version (RFC 5246, 5; RFC 4346, 5).
func expand(version uint16, h func() hash.Hash, secret []byte, label string, seed []byte, n int) []byte {
	seed = append([]byte(label), seed...)
	if version >= tlsmsg.TLS12 {
		return pHash(h, secret, seed, n)
	}
	half := (len(secret) + 1) / 2
	out := pHash(md5.New, secret[:half], seed, n)
	for i, b := range pHash(sha1.New, secret[len(secret)-half:], seed, n) {
		out[i] ^= b
	}
	return out
}

func pHash(h func() hash.Hash, secret, seed []byte, n int) []byte {
	mac := hmac.New(h, secret)
	sum := func(parts ...[]byte) []byte {
		mac.Reset()
		for _, p := range parts {
			mac.Write(p)
		}
		return mac.Sum(nil)
	}
	out := make([]byte, 0, n+mac.Size())
	for a := sum(seed); len(out) < n; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:n]
}
