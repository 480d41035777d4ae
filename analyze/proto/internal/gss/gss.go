// Package gss recognises what GSS-API tokens carry (RFC 2743, RFC 4178, MS-NLMP), for
// those who have to name it.
package gss

import (
	"bytes"

	"netwhy/analyze/proto"
)

// Names of mechanisms as Wireshark and the report call them.
const (
	api    = "gss-api"
	nego   = "spnego"
	ntlm   = "ntlmssp"
	krb    = "spnego-krb5"
	begins = "NTLMSSP\x00" // every message of NTLM (MS-NLMP, 2.2.1)
)

// Names are those that Token may use.
func Names() []string { return []string{api, nego, ntlm, krb} }

// Token names what a token carries. answer tells that it is the server's: a bare
// message of NTLM from there is framed by nothing.
func Token(s *proto.Scope, b []byte, answer bool) {
	const initial, response, other = 0x60, 0xa1, 0xa0 // RFC 2743, 3.1; RFC 4178, 4.2
	if len(b) == 0 {
		return
	}
	wrapped := b[0] == initial || b[0] == response || b[0] == other
	bare := bytes.HasPrefix(b, []byte(begins))
	if !wrapped && !bare {
		return
	}
	if wrapped || !answer {
		s.Carries(api)
	}
	if wrapped {
		s.Carries(nego)
	}
	if bytes.Contains(b, []byte(begins)) {
		s.Carries(ntlm)
	}
	// 1.2.840.113554.1.2.2, and what kind of message follows (RFC 4121, 4.1).
	if i := bytes.Index(b, []byte("\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")); i >= 0 && len(b) > i+12 && b[i+12] == 0 && b[i+11] <= 3 {
		s.Carries(krb)
	}
}
