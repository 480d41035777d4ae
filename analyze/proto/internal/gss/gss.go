// Package gss recognises what GSS-API tokens carry (RFC 4178, MS-NLMP), for those
// who have to name it.
package gss

import (
	"bytes"

	"netwhy/analyze/proto"
)

// Names are those that Carry may use.
func Names() []string { return []string{"gss-api", "spnego", "ntlmssp"} }

// Carry names the mechanisms whose marks are in a login message.
func Carry(s *proto.Scope, b []byte) {
	ntlm := bytes.Contains(b, []byte("NTLMSSP\x00"))
	spnego := bytes.Contains(b, []byte{0x2b, 6, 1, 5, 5, 2}) // 1.3.6.1.5.5.2
	if ntlm {
		s.Carries("ntlmssp")
	}
	if spnego {
		s.Carries("spnego")
	}
	if ntlm || spnego {
		s.Carries("gss-api")
	}
}
