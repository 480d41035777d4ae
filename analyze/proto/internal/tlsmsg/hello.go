package tlsmsg

import (
	"encoding/binary"

	"golang.org/x/crypto/cryptobyte"
)

// Types of handshake messages (RFC 8446, 4; RFC 5246, 7.4; RFC 6347, 4.3.2).
const (
	TypeHelloRequest        = 0
	TypeClientHello         = 1
	TypeServerHello         = 2
	TypeHelloVerifyRequest  = 3
	TypeNewSessionTicket    = 4
	TypeEncryptedExtensions = 8
	TypeCertificate         = 11
	TypeServerKeyExchange   = 12
	TypeCertificateRequest  = 13
	TypeServerHelloDone     = 14
	TypeCertificateVerify   = 15
	TypeClientKeyExchange   = 16
	TypeFinished            = 20
	TypeCertificateStatus   = 22
	TypeKeyUpdate           = 24
)

// Versions on the wire.
const (
	SSL30  = 0x0300
	TLS10  = 0x0301
	TLS11  = 0x0302
	TLS12  = 0x0303
	TLS13  = 0x0304
	DTLS10 = 0xfeff
	DTLS12 = 0xfefd
	DTLS13 = 0xfefc
)

// Extensions (IANA registry "TLS ExtensionType Values").
const (
	extServerName          = 0
	extGroups              = 10
	extPointFormats        = 11
	extSignatureAlgorithms = 13
	extALPN                = 16
	extEncryptThenMAC      = 22
	extPreSharedKey        = 41
	extEarlyData           = 42
	extSupportedVersions   = 43
	extKeyShare            = 51
	extConnectionID        = 54 // RFC 9146
	extECH                 = 0xfe0d
)

// Bounds: a hello with more of these is read no further than that.
const (
	maxCiphers    = 256
	maxExtensions = 64
	maxProtocols  = 16
	maxList       = 64
	maxSNI        = 255 // RFC 1035, 2.3.4
)

// ClientHello is what a client offers. Slices of numbers are copies, the name refers
// to the bytes read; texts are hostile.
type ClientHello struct {
	Version      uint16 // legacy_version
	Random       [32]byte
	Ciphers      []uint16
	Extensions   []uint16 // in the order sent
	SNI          []byte
	ALPN         []string
	Groups       []uint16
	PointFormats []byte
	SigAlgs      []uint16
	Versions     []uint16 // supported_versions
	EarlyData    bool
	ECH          bool // encrypted client hello: SNI is the outer name
	CID          int  // DTLS: length of the id that records to the client shall have; -1: not offered
}

// ServerHello is what the server chose.
type ServerHello struct {
	Version        uint16 // legacy_version
	Random         [32]byte
	Cipher         uint16
	Extensions     []uint16
	Selected       uint16 // supported_versions; 0: not sent
	ALPN           []byte // refers to the bytes read
	Group          uint16
	PSK            bool
	EncryptThenMAC bool
	Retry          bool // HelloRetryRequest (RFC 8446, 4.1.3)
	CID            int  // DTLS: length of the id that records to the server shall have; -1: not sent
}

// Negotiated is the version that counts.
func (h *ServerHello) Negotiated() uint16 {
	if h.Selected != 0 {
		return h.Selected
	}
	return h.Version
}

// MaxVersion is the highest version that the client offers.
func (h *ClientHello) MaxVersion() uint16 {
	best := uint16(0)
	for _, v := range h.Versions {
		if !IsGREASE(v) && newer(v, best) {
			best = v
		}
	}
	if best == 0 {
		return h.Version
	}
	return best
}

// MinVersion is the lowest version that the client says it offers; without
// supported_versions only the highest is known.
func (h *ClientHello) MinVersion() uint16 {
	best := uint16(0)
	for _, v := range h.Versions {
		if !IsGREASE(v) && (best == 0 || newer(best, v)) {
			best = v
		}
	}
	return best
}

// newer compares versions; those of DTLS count downwards.
func newer(a, b uint16) bool {
	if b == 0 {
		return true
	}
	if a>>8 == 0xfe && b>>8 == 0xfe {
		return a < b
	}
	return a > b
}

// IsGREASE reports whether a number is one that clients send to keep servers
// tolerant (RFC 8701).
func IsGREASE(v uint16) bool { return v&0x0f0f == 0x0a0a && v>>8 == v&0xff }

// Parse reads the body of a ClientHello in place of what h was before, whose lists
// of numbers are written over; dtls says that it has a cookie (RFC 6347, 4.2.1). ok is
// false when it breaks its own lengths.
func (h *ClientHello) Parse(body []byte, dtls bool) (ok bool) {
	*h = ClientHello{
		CID: -1, Ciphers: h.Ciphers[:0], Extensions: h.Extensions[:0], Groups: h.Groups[:0], PointFormats: h.PointFormats[:0],
		SigAlgs: h.SigAlgs[:0], Versions: h.Versions[:0],
	}
	s := cryptobyte.String(body)
	var random, session, cookie, ciphers, compression cryptobyte.String
	if !s.ReadUint16(&h.Version) || !s.ReadBytes((*[]byte)(&random), 32) || !s.ReadUint8LengthPrefixed(&session) {
		return false
	}
	copy(h.Random[:], random)
	if dtls && !s.ReadUint8LengthPrefixed(&cookie) {
		return false
	}
	if !s.ReadUint16LengthPrefixed(&ciphers) || !s.ReadUint8LengthPrefixed(&compression) || len(ciphers)%2 != 0 {
		return false
	}
	h.Ciphers = numbers(h.Ciphers, ciphers, maxCiphers)
	if s.Empty() {
		return true // SSL 3 and TLS 1.0 without extensions
	}
	return extensions(&s, &h.Extensions, h.extension)
}

// extensions walks a block of extensions, notes their order and calls each.
func extensions(s *cryptobyte.String, order *[]uint16, each func(typ uint16, data cryptobyte.String) bool) bool {
	var block cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&block) {
		return false
	}
	for !block.Empty() {
		var typ uint16
		var data cryptobyte.String
		if !block.ReadUint16(&typ) || !block.ReadUint16LengthPrefixed(&data) {
			return false
		}
		if len(*order) < maxExtensions {
			*order = append(*order, typ)
		}
		if !each(typ, data) {
			return false
		}
	}
	return true
}

func (h *ClientHello) extension(typ uint16, data cryptobyte.String) bool {
	var list cryptobyte.String
	switch typ {
	case extServerName:
		name, ok := serverName(data)
		if !ok {
			return false
		}
		if len(h.SNI) == 0 {
			h.SNI = name
		}
	case extALPN:
		return protocols(data, &h.ALPN)
	case extGroups:
		if !data.ReadUint16LengthPrefixed(&list) {
			return false
		}
		h.Groups = numbers(h.Groups[:0], list, maxList)
	case extPointFormats:
		if !data.ReadUint8LengthPrefixed(&list) {
			return false
		}
		h.PointFormats = append(h.PointFormats[:0], list[:min(len(list), maxList)]...)
	case extSignatureAlgorithms:
		if !data.ReadUint16LengthPrefixed(&list) {
			return false
		}
		h.SigAlgs = numbers(h.SigAlgs[:0], list, maxList)
	case extSupportedVersions:
		if !data.ReadUint8LengthPrefixed(&list) {
			return false
		}
		h.Versions = numbers(h.Versions[:0], list, maxList)
	case extKeyShare:
		return keyShares(data)
	case extEarlyData:
		h.EarlyData = true
	case extECH:
		h.ECH = true
	case extConnectionID:
		h.CID = connectionID(data)
	}
	return true
}

// serverName reads the name asked for (RFC 6066, 3), empty where there is none.
func serverName(data cryptobyte.String) (name []byte, ok bool) {
	if data.Empty() {
		return nil, true
	}
	var list, text cryptobyte.String
	var kind uint8
	if !data.ReadUint16LengthPrefixed(&list) || !list.ReadUint8(&kind) || !list.ReadUint16LengthPrefixed(&text) {
		return nil, false
	}
	if kind != 0 {
		return nil, true
	}
	return text[:min(len(text), maxSNI)], true
}

// connectionID is the length of a connection id (RFC 9146, 3); -1: it is none.
func connectionID(data cryptobyte.String) int {
	var id cryptobyte.String
	if !data.ReadUint8LengthPrefixed(&id) {
		return -1
	}
	return len(id)
}

// keyShares reports whether key shares (RFC 8446, 4.2.8) keep to their lengths.
func keyShares(data cryptobyte.String) bool {
	var list cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&list) {
		return false
	}
	for n := 0; !list.Empty() && n < maxList; n++ {
		var share cryptobyte.String
		if !list.Skip(2) || !list.ReadUint16LengthPrefixed(&share) {
			return false
		}
	}
	return true
}

func protocols(data cryptobyte.String, out *[]string) bool {
	var list cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&list) {
		return false
	}
	for !list.Empty() && len(*out) < maxProtocols {
		var p cryptobyte.String
		if !list.ReadUint8LengthPrefixed(&p) {
			return false
		}
		*out = append(*out, string(p))
	}
	return true
}

// retryRandom is the random of a HelloRetryRequest: SHA-256 of
// "HelloRetryRequest" (RFC 8446, 4.1.3).
func isRetry(random []byte) bool {
	return string(random) == "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"+
		"\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c"
}

// Parse reads the body of a ServerHello in place of what h was before; ok is false
// when it breaks its own lengths.
func (h *ServerHello) Parse(body []byte) (ok bool) {
	*h = ServerHello{CID: -1, Extensions: h.Extensions[:0]}
	s := cryptobyte.String(body)
	var random, session cryptobyte.String
	var compression uint8
	if !s.ReadUint16(&h.Version) || !s.ReadBytes((*[]byte)(&random), 32) || !s.ReadUint8LengthPrefixed(&session) ||
		!s.ReadUint16(&h.Cipher) || !s.ReadUint8(&compression) {
		return false
	}
	copy(h.Random[:], random)
	h.Retry = isRetry(random)
	if s.Empty() {
		return true
	}
	return extensions(&s, &h.Extensions, h.extension)
}

func (h *ServerHello) extension(typ uint16, data cryptobyte.String) (ok bool) {
	switch typ {
	case extSupportedVersions:
		return data.ReadUint16(&h.Selected)
	case extKeyShare:
		return data.ReadUint16(&h.Group)
	case extPreSharedKey:
		h.PSK = true
	case extEncryptThenMAC:
		h.EncryptThenMAC = true
	case extConnectionID:
		h.CID = connectionID(data)
	case extALPN:
		h.ALPN, ok = chosenProtocol(data)
		return ok
	}
	return true
}

// chosenProtocol is the first of a list of ALPN, which has one (RFC 7301, 3.1).
func chosenProtocol(data cryptobyte.String) (name []byte, ok bool) {
	var list, p cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&list) {
		return nil, false
	}
	for n := 0; !list.Empty() && n < maxProtocols; n++ {
		if !list.ReadUint8LengthPrefixed(&p) {
			return nil, false
		}
		if n == 0 {
			name = p
		}
	}
	return name, true
}

// Accepted is what EncryptedExtensions of TLS 1.3 grant.
type Accepted struct {
	ALPN      []byte // refers to the bytes read
	EarlyData bool
}

// ParseEncryptedExtensions reads the body of EncryptedExtensions (RFC 8446, 4.3.1).
func ParseEncryptedExtensions(body []byte) (x Accepted, ok bool) {
	s := cryptobyte.String(body)
	var order []uint16
	ok = extensions(&s, &order, func(typ uint16, data cryptobyte.String) (ok bool) {
		switch typ {
		case extALPN:
			x.ALPN, ok = chosenProtocol(data)
			return ok
		case extEarlyData:
			x.EarlyData = true
		}
		return true
	})
	return x, ok
}

// numbers appends those of a list, up to a limit.
func numbers(dst []uint16, list cryptobyte.String, limit int) []uint16 {
	for ; len(list) > 1 && len(dst) < limit; list = list[2:] {
		dst = append(dst, binary.BigEndian.Uint16(list))
	}
	return dst
}
