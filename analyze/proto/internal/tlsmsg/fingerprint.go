package tlsmsg

import (
	"crypto/md5" //nolint:gosec // JA3 is defined as an MD5 sum; it protects nothing
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	b := strconv.AppendUint(nil, uint64(h.Version), 10)
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
	b := strconv.AppendUint(nil, uint64(h.Version), 10)
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
	ciphers := sortedHex(h.Ciphers)
	all := 0
	var exts []uint16
	for _, e := range h.Extensions {
		if IsGREASE(e) {
			continue
		}
		all++
		if e != extServerName && e != extALPN {
			exts = append(exts, e)
		}
	}
	name := byte('i')
	if slices.Contains(h.Extensions, extServerName) {
		name = 'd'
	}
	a := fmt.Sprintf("%c%s%c%02d%02d%s", transport, ja4Version(h.MaxVersion()), name,
		min(len(ciphers), 99), min(all, 99), h.ja4ALPN())
	b, c := none, none
	if len(ciphers) > 0 {
		b = sha12(strings.Join(ciphers, ","))
	}
	if all > 0 {
		text := strings.Join(sortedHex(exts), ",")
		if sigs := hexes(h.SigAlgs); len(sigs) > 0 {
			text += "_" + strings.Join(sigs, ",")
		}
		c = sha12(text)
	}
	return a + "_" + b + "_" + c
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

func sortedHex(list []uint16) []string {
	out := hexes(list)
	slices.Sort(out)
	return out
}

func hexes(list []uint16) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		if !IsGREASE(v) {
			out = append(out, fmt.Sprintf("%04x", v))
		}
	}
	return out
}

func sha12(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
