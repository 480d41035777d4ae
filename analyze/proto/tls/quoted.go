package tls

import (
	"netwhy/analyze/proto/internal/handshake"
)

// Quoted tells the alerts in the beginning of a segment that an ICMP error quotes; own
// tells that its port is one of TLS.
func Quoted(b []byte, own bool, tell func(key string)) {
	if len(b) == 0 || !own && !tells(b[0]) {
		return
	}
	for len(b) >= headerLen {
		typ, _, n, ok := header(b)
		if !ok || n > len(b)-headerLen {
			return
		}
		if typ == handshake.RecordAlert {
			tell(handshake.AlertKey(b[headerLen : headerLen+n]))
		}
		b = b[headerLen+n:]
	}
}
