package tlsmsg

import (
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// Revocation is what an OCSP response says of its first revoked certificate.
type Revocation struct {
	Serial string // hexadecimal
	At     time.Time
	Reason int // CRLReason (RFC 5280, 5.3.1); -1: not told
}

// Revoked reads an OCSP response (RFC 6960, 4.2.1) and reports whether it says
// that a certificate was revoked. Signatures are not checked: whoever made the
// answer, it is what the client was told. golang.org/x/crypto/ocsp refuses the
// SHA-1 signatures that many responders still make.
func Revoked(der []byte) (r Revocation, revoked bool) {
	in := cryptobyte.String(der)
	var response, outer, bytes, octets, basic, data cryptobyte.String
	var status int
	if !in.ReadASN1(&response, asn1.SEQUENCE) || !response.ReadASN1Enum(&status) || status != 0 ||
		!response.ReadASN1(&outer, asn1.Tag(0).ContextSpecific().Constructed()) ||
		!outer.ReadASN1(&bytes, asn1.SEQUENCE) || !bytes.SkipASN1(asn1.OBJECT_IDENTIFIER) ||
		!bytes.ReadASN1(&octets, asn1.OCTET_STRING) || !octets.ReadASN1(&basic, asn1.SEQUENCE) ||
		!basic.ReadASN1(&data, asn1.SEQUENCE) {
		return r, false
	}
	var list, id cryptobyte.String
	var tag asn1.Tag
	if !data.SkipOptionalASN1(asn1.Tag(0).ContextSpecific().Constructed()) || // version
		!data.ReadAnyASN1(&id, &tag) || // responder
		!data.SkipASN1(asn1.GeneralizedTime) || !data.ReadASN1(&list, asn1.SEQUENCE) {
		return r, false
	}
	for !list.Empty() {
		var single, cert cryptobyte.String
		if !list.ReadASN1(&single, asn1.SEQUENCE) || !single.ReadASN1(&cert, asn1.SEQUENCE) {
			return r, false
		}
		if r, revoked = revocation(cert, single); revoked {
			return r, true
		}
	}
	return r, false
}

func revocation(cert, single cryptobyte.String) (r Revocation, revoked bool) {
	var info cryptobyte.String
	serial := new(big.Int)
	if !cert.SkipASN1(asn1.SEQUENCE) || !cert.SkipASN1(asn1.OCTET_STRING) || !cert.SkipASN1(asn1.OCTET_STRING) ||
		!cert.ReadASN1Integer(serial) ||
		!single.ReadASN1(&info, asn1.Tag(1).ContextSpecific().Constructed()) {
		return r, false // good, unknown or unreadable
	}
	r = Revocation{Serial: serial.Text(16), Reason: -1}
	if !info.ReadASN1GeneralizedTime(&r.At) {
		return r, false
	}
	var reason cryptobyte.String
	var present bool
	if info.ReadOptionalASN1(&reason, &present, asn1.Tag(0).ContextSpecific().Constructed()) && present {
		var code int
		if reason.ReadASN1Enum(&code) {
			r.Reason = code
		}
	}
	return r, true
}

// ReasonName writes why a certificate was revoked (RFC 5280, 5.3.1).
func ReasonName(reason int) string {
	names := [...]string{
		"unspecified", "key compromise", "CA compromise", "affiliation changed", "superseded", "cessation of operation",
		"certificate hold", "", "remove from CRL", "privilege withdrawn", "AA compromise",
	}
	if reason < 0 || reason >= len(names) {
		return ""
	}
	return names[reason]
}

// StapledStatus takes the OCSP response out of a CertificateStatus message (RFC
// 6066, 8); ok is false for any other content.
func StapledStatus(body []byte) (der []byte, ok bool) {
	s := cryptobyte.String(body)
	var kind uint8
	var response cryptobyte.String
	if !s.ReadUint8(&kind) || kind != 1 || !s.ReadUint24LengthPrefixed(&response) {
		return nil, false
	}
	return response, true
}
