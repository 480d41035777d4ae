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
	extSessionTicket       = 35
	extPreSharedKey        = 41
	extEarlyData           = 42
	extSupportedVersions   = 43
	extKeyShare            = 51
	extQUICParameters      = 57
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

// ClientHello is what a client offers. Slices of numbers are copies; strings
// are hostile.
type ClientHello struct {
	Version       uint16 // legacy_version
	Random        [32]byte
	SessionID     bool
	Ciphers       []uint16
	Extensions    []uint16 // in the order sent
	SNI           string
	ALPN          []string
	Groups        []uint16
	PointFormats  []byte
	SigAlgs       []uint16
	Versions      []uint16 // supported_versions
	KeyShares     []uint16
	Ticket        bool // a session ticket to resume with (RFC 5077)
	PSK           bool // pre_shared_key: resumption in TLS 1.3
	EarlyData     bool
	ECH           bool // encrypted client hello: SNI is the outer name
	HasQUICParams bool
}

// ServerHello is what the server chose.
type ServerHello struct {
	Version        uint16 // legacy_version
	Random         [32]byte
	SessionID      []byte
	Cipher         uint16
	Extensions     []uint16
	Selected       uint16 // supported_versions; 0: not sent
	ALPN           string
	Group          uint16
	PSK            bool
	EncryptThenMAC bool
	Retry          bool // HelloRetryRequest (RFC 8446, 4.1.3)
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

// ParseClientHello reads the body of a ClientHello; dtls says that it has a
// cookie (RFC 6347, 4.2.1). ok is false when it breaks its own lengths.
func ParseClientHello(body []byte, dtls bool) (h ClientHello, ok bool) {
	s := cryptobyte.String(body)
	var random, session, cookie, ciphers, compression cryptobyte.String
	if !s.ReadUint16(&h.Version) || !s.ReadBytes((*[]byte)(&random), 32) || !s.ReadUint8LengthPrefixed(&session) {
		return h, false
	}
	copy(h.Random[:], random)
	h.SessionID = len(session) > 0
	if dtls && !s.ReadUint8LengthPrefixed(&cookie) {
		return h, false
	}
	if !s.ReadUint16LengthPrefixed(&ciphers) || !s.ReadUint8LengthPrefixed(&compression) || len(ciphers)%2 != 0 {
		return h, false
	}
	h.Ciphers = numbers(ciphers, maxCiphers)
	if s.Empty() {
		return h, true // SSL 3 and TLS 1.0 without extensions
	}
	return h, extensions(&s, &h.Extensions, h.extension)
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
		if data.Empty() {
			return true
		}
		if !data.ReadUint16LengthPrefixed(&list) {
			return false
		}
		var kind uint8
		var name cryptobyte.String
		if !list.ReadUint8(&kind) || !list.ReadUint16LengthPrefixed(&name) {
			return false
		}
		if kind == 0 && h.SNI == "" {
			h.SNI = string(name[:min(len(name), maxSNI)])
		}
	case extALPN:
		return protocols(data, &h.ALPN)
	case extGroups:
		if !data.ReadUint16LengthPrefixed(&list) {
			return false
		}
		h.Groups = numbers(list, maxList)
	case extPointFormats:
		if !data.ReadUint8LengthPrefixed(&list) {
			return false
		}
		h.PointFormats = append([]byte(nil), list[:min(len(list), maxList)]...)
	case extSignatureAlgorithms:
		if !data.ReadUint16LengthPrefixed(&list) {
			return false
		}
		h.SigAlgs = numbers(list, maxList)
	case extSupportedVersions:
		if !data.ReadUint8LengthPrefixed(&list) {
			return false
		}
		h.Versions = numbers(list, maxList)
	case extKeyShare:
		if !data.ReadUint16LengthPrefixed(&list) {
			return false
		}
		for !list.Empty() && len(h.KeyShares) < maxList {
			var group uint16
			var share cryptobyte.String
			if !list.ReadUint16(&group) || !list.ReadUint16LengthPrefixed(&share) {
				return false
			}
			h.KeyShares = append(h.KeyShares, group)
		}
	case extSessionTicket:
		h.Ticket = !data.Empty()
	case extPreSharedKey:
		h.PSK = true
	case extEarlyData:
		h.EarlyData = true
	case extECH:
		h.ECH = true
	case extQUICParameters:
		h.HasQUICParams = true
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

// ParseServerHello reads the body of a ServerHello.
func ParseServerHello(body []byte) (h ServerHello, ok bool) {
	s := cryptobyte.String(body)
	var random, session cryptobyte.String
	var compression uint8
	if !s.ReadUint16(&h.Version) || !s.ReadBytes((*[]byte)(&random), 32) || !s.ReadUint8LengthPrefixed(&session) ||
		!s.ReadUint16(&h.Cipher) || !s.ReadUint8(&compression) {
		return h, false
	}
	copy(h.Random[:], random)
	h.Retry = isRetry(random)
	h.SessionID = append([]byte(nil), session[:min(len(session), 32)]...)
	if s.Empty() {
		return h, true
	}
	return h, extensions(&s, &h.Extensions, h.extension)
}

func (h *ServerHello) extension(typ uint16, data cryptobyte.String) bool {
	switch typ {
	case extSupportedVersions:
		return data.ReadUint16(&h.Selected)
	case extKeyShare:
		return data.ReadUint16(&h.Group)
	case extPreSharedKey:
		h.PSK = true
	case extEncryptThenMAC:
		h.EncryptThenMAC = true
	case extALPN:
		var list []string
		if !protocols(data, &list) {
			return false
		}
		if len(list) > 0 {
			h.ALPN = list[0]
		}
	}
	return true
}

// EncryptedALPN returns the protocol that EncryptedExtensions of TLS 1.3 names.
func EncryptedALPN(body []byte) (alpn string, ok bool) {
	s := cryptobyte.String(body)
	var order []uint16
	ok = extensions(&s, &order, func(typ uint16, data cryptobyte.String) bool {
		var list []string
		if typ != extALPN {
			return true
		}
		if !protocols(data, &list) {
			return false
		}
		if len(list) > 0 {
			alpn = list[0]
		}
		return true
	})
	return alpn, ok
}

func numbers(list cryptobyte.String, limit int) []uint16 {
	n := min(len(list)/2, limit)
	out := make([]uint16, n)
	for i := range out {
		out[i] = binary.BigEndian.Uint16(list[2*i:])
	}
	return out
}
