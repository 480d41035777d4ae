package quic

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"

	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/tlsmsg"
)

// keys protect packets of one direction (RFC 9001, 5).
type keys struct {
	aead  cipher.AEAD
	iv    []byte
	block cipher.Block // of the header's protection; nil: ChaCha20 with hp
	hp    []byte
}

// room is where a lane's packets are opened, one at a time.
type room struct{ head, out []byte }

// suite is what the keys of a cipher suite need.
type suite struct {
	hash   func() hash.Hash
	key    int
	chacha bool
}

// suiteOf returns the suite of a number; ok is false for those that QUIC does not
// use, and for CCM.
func suiteOf(id uint16) (s suite, ok bool) {
	switch id {
	case 0x1301:
		return suite{sha256.New, 16, false}, true
	case 0x1302:
		return suite{sha512.New384, 32, false}, true
	case 0x1303:
		return suite{sha256.New, chacha20poly1305.KeySize, true}, true
	}
	return s, false
}

// prefix begins the labels of a version (RFC 9001, 5.1; RFC 9369, 3.3.2).
func prefix(version uint32) string {
	if version == version2 {
		return "quicv2 "
	}
	return "quic "
}

// keys derives the keys of a traffic secret; nil: there is none.
func (c suite) keys(version uint32, secret []byte) *keys {
	if len(secret) == 0 {
		return nil
	}
	k := c.update(version, secret)
	hp := tlsmsg.ExpandLabel(c.hash, secret, prefix(version)+"hp", c.key)
	if k == nil || hp == nil {
		return nil
	}
	if k.hp = hp; c.chacha {
		return k
	}
	block, err := aes.NewCipher(hp)
	if err != nil {
		return nil
	}
	k.block = block
	return k
}

// update derives keys that come without a new protection of the header (RFC 9001, 6.1).
func (c suite) update(version uint32, secret []byte) *keys {
	key := tlsmsg.ExpandLabel(c.hash, secret, prefix(version)+"key", c.key)
	k := &keys{iv: tlsmsg.ExpandLabel(c.hash, secret, prefix(version)+"iv", 12)}
	if key == nil || k.iv == nil {
		return nil
	}
	var err error
	if c.chacha {
		k.aead, err = chacha20poly1305.New(key)
	} else {
		var block cipher.Block
		if block, err = aes.NewCipher(key); err == nil {
			k.aead, err = cipher.NewGCM(block)
		}
	}
	if err != nil {
		return nil
	}
	return k
}

// mask is what hides the header's bits and the packet number (RFC 9001, 5.4.3 and
// 5.4.4).
func (k *keys) mask(sample []byte) (m [aes.BlockSize]byte) {
	if k.block != nil {
		k.block.Encrypt(m[:], sample)
		return m
	}
	c, err := chacha20.NewUnauthenticatedCipher(k.hp, sample[4:])
	if err != nil {
		return m
	}
	c.SetCounter(binary.LittleEndian.Uint32(sample))
	c.XORKeyStream(m[:5], m[:5])
	return m
}

// opened is a packet without its protection. Slices are valid until the next packet of
// the lane.
type opened struct {
	frames []byte
	number uint64
	first  byte
}

// peek takes the protection off the header: first byte and packet number, whose
// length is in it. largest is the number of the packet before.
func (k *keys) peek(s *proto.Scope, whole []byte, pn int, largest uint64) (o opened, head []byte, ok bool) {
	if len(whole) < pn+4+sampleLen {
		return o, nil, false
	}
	mask := k.mask(whole[pn+4 : pn+4+sampleLen])
	bits := byte(0x1f)
	if whole[0]&0x80 != 0 {
		bits = 0x0f
	}
	o.first = whole[0] ^ mask[0]&bits
	n := int(o.first&3) + 1
	r := proto.Kept[room](s)
	r.head = append(r.head[:0], whole[:pn+n]...)
	r.head[0] = o.first
	cut := uint64(0)
	for i, m := range mask[1 : 1+n] {
		r.head[pn+i] ^= m
		cut = cut<<8 | uint64(r.head[pn+i])
	}
	o.number = restore(cut, n, largest)
	return o, r.head, true
}

// open decrypts a packet whose header is known.
func (k *keys) open(s *proto.Scope, o *opened, whole, head []byte) bool {
	if len(whole) < len(head)+tagLen {
		return false
	}
	var nonce [12]byte
	copy(nonce[:], k.iv)
	for i := range 8 {
		nonce[len(nonce)-8+i] ^= byte(o.number >> (56 - 8*i) & 0xff)
	}
	r := proto.Kept[room](s)
	out, err := k.aead.Open(r.out[:0], nonce[:], whole[len(head):], head)
	if err != nil {
		return false
	}
	r.out = out
	o.frames = out
	return true
}

// restore finds the packet number nearest to the one expected that ends in the n
// bytes sent (RFC 9000, A.3).
func restore(cut uint64, n int, largest uint64) uint64 {
	expected := largest + 1
	window := uint64(1) << (8 * n)
	number := expected&^(window-1) | cut
	switch {
	case number+window/2 <= expected && number < 1<<62-window:
		return number + window
	case number > expected+window/2 && number >= window:
		return number - window
	}
	return number
}
