package quic

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"netwhy/analyze/proto"
)

// Versions.
const (
	version1 = 0x00000001
	version2 = 0x6b3343cf // RFC 9369
	draft27  = 0xff00001b
	draft28  = 0xff00001c
	draft29  = 0xff00001d
	draft32  = 0xff000020
)

// Sizes.
const (
	maxCID      = 20   // RFC 9000, 17.2
	minInitial  = 1200 // RFC 9000, 14.1
	maxVersions = 64
	sampleLen   = 16
	tagLen      = 16
)

// known reports whether the Initial packets of a version can be read.
func known(v uint32) bool {
	return v == version1 || v == version2 || v >= draft27 && v <= draft32
}

func versionName(v uint32) string {
	switch {
	case v == version1:
		return "1"
	case v == version2:
		return "2"
	case v>>8 == 0xff0000:
		return fmt.Sprintf("draft-%d", v&0xff)
	}
	return fmt.Sprintf("0x%08x", v)
}

// kind is a long header's type, whatever number a version gives it.
type kind uint8

const (
	initial kind = iota
	zeroRTT
	handshakePacket
	retry
)

// long is a packet with a long header (RFC 9000, 17.2). Slices refer to the
// datagram.
type long struct {
	version    uint32
	kind       kind
	dcid, scid []byte
	payload    []byte // behind the connection ids
	whole      []byte // of an Initial, 0-RTT or Handshake packet
	pn         int    // offset of the packet number in whole
	size       int    // in the datagram
}

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// parseLong reads the version-independent part (RFC 8999, 5.1).
func parseLong(b []byte) (p long, ok bool) {
	if len(b) < 7 || b[0]&0x80 == 0 {
		return p, false
	}
	p.version = be32(b[1:])
	rest := b[5:]
	for _, id := range [2]*[]byte{&p.dcid, &p.scid} {
		if len(rest) < 1 || int(rest[0]) > maxCID || len(rest) < 1+int(rest[0]) {
			return p, false
		}
		n := 1 + int(rest[0])
		*id, rest = rest[1:n], rest[n:]
	}
	p.payload = rest
	p.kind = kind(b[0] >> 4 & 3)
	if p.version == version2 { // RFC 9369, 3.2: the numbers are rotated by one
		p.kind = (p.kind + 3) & 3
	}
	return p, true
}

// body finds token and length of a packet of a known version; ok is false when
// they do not fit the datagram.
func (p *long) body(b []byte) bool {
	if p.kind == retry {
		p.size = len(b)
		return true
	}
	off := len(b) - len(p.payload)
	if p.kind == initial {
		n, w := length(b[off:])
		if w == 0 || off+w+n > len(b) {
			return false
		}
		off += w + n
	}
	n, w := length(b[off:])
	if w == 0 || n > len(b)-off-w || n < 4+sampleLen {
		return false
	}
	p.pn = off + w
	p.size = p.pn + n
	p.whole = b[:p.size]
	return true
}

// varint reads a variable-length integer (RFC 9000, 16); width 0: too short.
func varint(b []byte) (v uint64, width int) {
	if len(b) == 0 {
		return 0, 0
	}
	width = 1 << (b[0] >> 6)
	if len(b) < width {
		return 0, 0
	}
	v = uint64(b[0] & 0x3f)
	for _, c := range b[1:width] {
		v = v<<8 | uint64(c)
	}
	return v, width
}

// length reads a length of something in a datagram; width 0: too short, or
// longer than any datagram.
func length(b []byte) (n, width int) {
	v, w := varint(b)
	if v > 1<<16 {
		return 0, 0
	}
	return int(v), w
}

// initialKeys derives the keys of one sender's Initial packets, 0 for the client,
// from the connection id that the client chose for the server (RFC 9001, 5.2).
func initialKeys(version uint32, dcid []byte, from int) *keys {
	salt := "\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a"
	switch {
	case version == version2:
		salt = "\x0d\xed\xe3\xde\xf7\x00\xa6\xdb\x81\x93\x81\xbe\x6e\x26\x9d\xcb\xf9\xbd\x2e\xd9"
	case version >= draft29 && version <= draft32:
		salt = "\xaf\xbf\xec\x28\x99\x93\xd2\x4c\x9e\x97\x86\xf1\x9c\x61\x11\xe0\x43\x90\xa8\x99"
	case version == draft27 || version == draft28:
		salt = "\xc3\xee\xf7\x12\xc7\x2e\xbb\x5a\x11\xa7\xd2\x43\x2b\xb4\x63\x65\xbe\xf9\xf5\x02"
	}
	const keyLen, ivLen = 16, 12 // AES-128-GCM
	shared := hmacSHA256([]byte(salt), dcid)
	secret := expand(shared[:], [2]string{"client in", "server in"}[from], sha256.Size)
	key := expand(secret[:], prefix(version)+"key", keyLen)
	iv := expand(secret[:], prefix(version)+"iv", ivLen)
	hp := expand(secret[:], prefix(version)+"hp", keyLen)
	k := &keys{iv: append([]byte(nil), iv[:ivLen]...)}
	block, err := aes.NewCipher(key[:keyLen])
	if err != nil {
		return nil
	}
	if k.aead, err = cipher.NewGCM(block); err != nil {
		return nil
	}
	if k.block, err = aes.NewCipher(hp[:keyLen]); err != nil {
		return nil
	}
	return k
}

// hmacSHA256 is HMAC (RFC 2104) of short texts. Nobody has to wait for a secret here:
// the keys of Initial packets are known to all, and crypto/hmac makes three records
// for each of the nine that every connection needs.
func hmacSHA256(key, text []byte) [sha256.Size]byte {
	const inner, outer, room = 0x36, 0x5c, 64
	var pad [sha256.BlockSize + room]byte
	copy(pad[:sha256.BlockSize], key)
	for i := range sha256.BlockSize {
		pad[i] ^= inner
	}
	sum := sha256.Sum256(append(pad[:sha256.BlockSize], text...))
	for i := range sha256.BlockSize {
		pad[i] ^= inner ^ outer
	}
	return sha256.Sum256(append(pad[:sha256.BlockSize], sum[:]...))
}

// expand is HKDF-Expand-Label (RFC 8446, 7.1) up to the length of one hash; the rest of
// what it returns is of no use.
func expand(secret []byte, label string, length byte) [sha256.Size]byte {
	var room [64]byte
	info := append(room[:0], 0, length, byte(len("tls13 ")+len(label))) //nolint:gosec // labels are short
	info = append(append(info, "tls13 "...), label...)
	return hmacSHA256(secret, append(info, 0, 1)) // no context; first block
}

// openInitial takes the protection off an Initial packet and returns its frames,
// which are valid until the next packet of the lane.
func (k *keys) openInitial(s *proto.Scope, p *long) (frames []byte, ok bool) {
	o, head, ok := k.peek(s, p.whole, p.pn, 0) // Initial packets are few: their numbers are never shortened
	if !ok || !k.open(s, &o, p.whole, head) {
		return nil, false
	}
	return o.frames, true
}
