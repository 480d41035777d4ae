package tlsmsg

import (
	"crypto/md5" //nolint:gosec // JA3 is defined as an MD5 sum; it protects nothing
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
)

// Transports of JA4.
const (
	OverTCP  = 't'
	OverQUIC = 'q'
	OverDTLS = 'd'
)

// JA3 is the MD5 of version, ciphers, extensions, groups and point formats as
// the client sent them, without GREASE (Salesforce, github.com/salesforce/ja3).
func (h *ClientHello) JA3() string {
	var room [6 * maxCiphers]byte
	b := strconv.AppendUint(room[:0], uint64(h.Version), 10)
	for _, list := range [...][]uint16{h.Ciphers, h.Extensions, h.Groups} {
		b = appendDecimals(append(b, ','), list)
	}
	b = append(b, ',')
	for i, p := range h.PointFormats {
		if i > 0 {
			b = append(b, '-')
		}
		b = strconv.AppendUint(b, uint64(p), 10)
	}
	return md5hex(b)
}

// JA3S is the MD5 of version, cipher and extensions that the server chose.
func (h *ServerHello) JA3S() string {
	var room [6 * maxExtensions]byte
	b := strconv.AppendUint(room[:0], uint64(h.Version), 10)
	b = strconv.AppendUint(append(b, ','), uint64(h.Cipher), 10)
	return md5hex(appendDecimals(append(b, ','), h.Extensions))
}

func appendDecimals(b []byte, list []uint16) []byte {
	first := true
	for _, v := range list {
		if IsGREASE(v) {
			continue
		}
		if !first {
			b = append(b, '-')
		}
		b, first = strconv.AppendUint(b, uint64(v), 10), false
	}
	return b
}

func md5hex(b []byte) string {
	sum := md5.Sum(b) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// JA4 is FoxIO's fingerprint of the client (BSD licence; the rest of the JA4+
// family is not freely licensed and is not made here).
func (h *ClientHello) JA4(transport byte) string {
	const none = "000000000000"
	var room [maxCiphers]uint16 // sorted copies without GREASE; no allocation for what every hello costs
	var text [8 * maxCiphers]byte
	ciphers := sorted(room[:0], h.Ciphers)
	a := make([]byte, 0, 36)
	a = append(a, transport)
	a = append(a, ja4Version(h.MaxVersion())...)
	name := byte('i')
	if slices.Contains(h.Extensions, extServerName) {
		name = 'd'
	}
	a = append(a, name)
	a = appendCount(a, len(ciphers))
	b := none
	if len(ciphers) > 0 {
		b = sum12(appendHexes(text[:0], ciphers))
	}
	exts := sorted(room[:0], h.Extensions)
	all := len(exts)
	a = appendCount(a, all)
	a = append(a, h.ja4ALPN()...)
	a = append(append(append(a, '_'), b...), '_')
	if all == 0 {
		return string(append(a, none...))
	}
	exts = slices.DeleteFunc(exts, func(e uint16) bool { return e == extServerName || e == extALPN })
	c := appendHexes(text[:0], exts)
	var sigs [maxList]uint16
	if list := ungreased(sigs[:0], h.SigAlgs); len(list) > 0 {
		c = appendHexes(append(c, '_'), list)
	}
	return string(append(a, sum12(c)...))
}

// appendCount writes a number of two digits, 99 at most.
func appendCount(b []byte, n int) []byte {
	n = min(n, 99)
	return append(b, "0123456789"[n/10], "0123456789"[n%10])
}

func (h *ClientHello) ja4ALPN() string {
	if len(h.ALPN) == 0 || h.ALPN[0] == "" {
		return "00"
	}
	p := h.ALPN[0]
	first, last := p[0], p[len(p)-1]
	if !alphanumeric(first) || !alphanumeric(last) {
		x := hex.EncodeToString([]byte(p))
		return x[:1] + x[len(x)-1:]
	}
	return string([]byte{first, last})
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func ja4Version(v uint16) string {
	switch v {
	case TLS13:
		return "13"
	case TLS12:
		return "12"
	case TLS11:
		return "11"
	case TLS10:
		return "10"
	case SSL30:
		return "s3"
	case DTLS10:
		return "d1"
	case DTLS12:
		return "d2"
	case DTLS13:
		return "d3"
	}
	return "00"
}

func ungreased(dst, list []uint16) []uint16 {
	for _, v := range list {
		if !IsGREASE(v) {
			dst = append(dst, v)
		}
	}
	return dst
}

func sorted(dst, list []uint16) []uint16 {
	dst = ungreased(dst, list)
	slices.Sort(dst)
	return dst
}

// appendHexes writes numbers of four hexadecimal digits with commas between.
func appendHexes(b []byte, list []uint16) []byte {
	const digits = "0123456789abcdef"
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, digits[v>>12], digits[v>>8&15], digits[v>>4&15], digits[v&15])
	}
	return b
}

// sum12 is the first twelve digits of the SHA-256 of a text.
func sum12(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
