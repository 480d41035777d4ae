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

	// A checksum over the mechanisms (RFC 4178, 4.2.2) that is a signature of NTLM: 16
	// bytes, of version 1 (MS-NLMP, 2.2.2.9.1).
	signature = "\xa3\x12\x04\x10\x01\x00\x00\x00"
)

// First bytes of wrapped tokens (RFC 2743, 3.1; RFC 4178, 4.2).
const initial, response, other = 0x60, 0xa1, 0xa0

// Names are those that Token may use.
func Names() []string { return []string{api, nego, ntlm, krb} }

// Token names what a token carries. answer tells that it is the server's: a bare
// message of NTLM from there is framed by nothing.
func Token(s *proto.Scope, b []byte, answer bool) {
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
	Inside(s, b)
}

// Inside names what a token carries where no GSS-API is around it.
func Inside(s *proto.Scope, b []byte) {
	if len(b) > 0 && (b[0] == initial || b[0] == response || b[0] == other) {
		s.Carries(nego)
	}
	if bytes.Contains(b, []byte(begins)) || bytes.Contains(b, []byte(signature)) {
		s.Carries(ntlm)
	}
	if kerberos(b, 0) {
		s.Carries(krb)
	}
}

// Find returns the token in a message whose frame says nothing of where it is: from
// the wrapping that begins it, or a message of NTLM by itself; nil: there is none.
func Find(b []byte) []byte {
	if i := bytes.Index(b, []byte{0x06, 0x06, 0x2b, 6, 1, 5, 5, 2}); i >= 2 { // SPNEGO's identifier behind tag and length
		for at := i - 2; at >= max(i-5, 0); at-- {
			if b[at] == initial {
				return b[at:]
			}
		}
	}
	i := bytes.Index(b, []byte(begins))
	if i < 0 {
		return nil
	}
	for at := i - 1; at >= max(i-32, 0); at-- { // an answer wraps it in a sequence of three or four fields
		if b[at] == response && at+2 < i && (b[at+2] == 0x30 || b[at+1]&0x80 != 0) {
			return b[at:]
		}
	}
	return b[i:]
}

// kerberos looks for a request or an answer of Kerberos in the octet strings of a
// token (RFC 4120, 5.5; RFC 4121, 4.1).
func kerberos(b []byte, depth int) bool {
	const (
		octets, constructed = 0x04, 0x20
		apReq, apRep        = 0x6e, 0x6f
		deepest             = 6
	)
	for len(b) >= 2 && depth < deepest {
		tag, at, n := b[0], 2, int(b[1])
		if n >= 0x80 {
			k := n - 0x80
			if k > 3 || len(b) < at+k {
				return false
			}
			n = 0
			for _, c := range b[at : at+k] {
				n = n<<8 | int(c)
			}
			at += k
		}
		content := b[at:min(at+n, len(b))]
		b = b[min(at+n, len(b)):]
		switch {
		case tag == octets && len(content) > 0 && (content[0] == apReq || content[0] == apRep || isKerberos(content)):
			return true
		case tag&constructed != 0 && kerberos(content, depth+1):
			return true
		}
	}
	return false
}

// isKerberos reports whether a token is framed as one of Kerberos.
func isKerberos(b []byte) bool {
	const mechanism = "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" // 1.2.840.113554.1.2.2
	return b[0] == initial && bytes.Contains(b[:min(len(b), len(mechanism)+6)], []byte(mechanism))
}
