package tlsmsg

import (
	"crypto/hkdf"
	"hash"
)

// ExpandLabel is HKDF-Expand-Label with an empty context (RFC 8446, 7.1; RFC
// 9001, 5.1 for QUIC). It returns nil for a length that HKDF does not give.
func ExpandLabel[H hash.Hash](h func() H, secret []byte, label string, length int) []byte {
	info := make([]byte, 0, 4+6+len(label))
	info = append(info, byte(length>>8&0xff), byte(length&0xff), byte((6+len(label))&0xff))
	info = append(append(info, "tls13 "...), label...)
	info = append(info, 0)
	key, err := hkdf.Expand(h, secret, string(info), length)
	if err != nil {
		return nil
	}
	return key
}
