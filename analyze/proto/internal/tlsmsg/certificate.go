package tlsmsg

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // old certificates have such keys; they are named, not used
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

// Bounds of a chain. RFC 8446, 4.4.2 has none but the length of a message.
const (
	MaxChain       = 10
	maxCertificate = 32 << 10
)

// SplitChain reads the body of a Certificate message into at most MaxChain DER
// certificates, leaf first; v13 is the form of TLS 1.3 (RFC 8446, 4.4.2). They
// refer to body.
func SplitChain(body []byte, v13 bool) (ders [][]byte, ok bool) {
	s := cryptobyte.String(body)
	var context, list cryptobyte.String
	if v13 && !s.ReadUint8LengthPrefixed(&context) || !s.ReadUint24LengthPrefixed(&list) {
		return nil, false
	}
	for !list.Empty() {
		var der, ext cryptobyte.String
		if !list.ReadUint24LengthPrefixed(&der) || v13 && !list.ReadUint16LengthPrefixed(&ext) {
			return ders, false
		}
		if len(ders) < MaxChain {
			ders = append(ders, der)
		}
	}
	return ders, true
}

// Chain is what a server's certificates say, at a given time.
type Chain struct {
	Length     int
	Subject    string // of the leaf: hostile
	Issuer     string
	Names      []string // DNS names and addresses of the leaf, at most maxNames
	NotBefore  time.Time
	NotAfter   time.Time
	SelfSigned bool   // the leaf signed itself
	Root       bool   // the last certificate signed itself: it need not be sent
	Ordered    bool   // each is signed by the next
	NameFits   bool   // the asked name is among those of the leaf; true when none was asked
	WeakKey    string // "RSA 1024", "SHA-1 signature" ...; empty: none known
	// Expired is the certificate of the chain that has expired (or is not valid
	// yet) at the time asked; -1: none.
	Expired     int
	NotYetValid int
}

const maxNames = 16

// ReadChain parses a chain and judges it against the name asked for and the
// capture's time. Trust is not judged: nobody knows which roots the client has.
// The leaf must be readable; others that are not end the chain.
func ReadChain(ders [][]byte, asked string, at time.Time) (c Chain, ok bool) {
	var certs []*x509.Certificate
	for _, der := range ders {
		if len(der) > maxCertificate {
			break
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			break
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return c, false
	}
	leaf, last := certs[0], certs[len(certs)-1]
	c = Chain{
		Length: len(ders), Subject: nameOf(leaf), Issuer: issuerOf(leaf), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		SelfSigned: selfIssued(leaf), Root: selfIssued(last), Ordered: true, NameFits: true,
		WeakKey: weak(leaf), Expired: -1, NotYetValid: -1,
	}
	for i, cert := range certs {
		if i > 0 && !bytes.Equal(certs[i-1].RawIssuer, cert.RawSubject) {
			c.Ordered = false
		}
		if c.Expired < 0 && at.After(cert.NotAfter) {
			c.Expired = i
		}
		if c.NotYetValid < 0 && at.Before(cert.NotBefore) {
			c.NotYetValid = i
		}
	}
	c.Names = append(c.Names, leaf.DNSNames[:min(len(leaf.DNSNames), maxNames)]...)
	for _, ip := range leaf.IPAddresses[:min(len(leaf.IPAddresses), maxNames)] {
		c.Names = append(c.Names, ip.String())
	}
	if c.Expired > 0 {
		c.NotAfter = certs[c.Expired].NotAfter
		c.Subject = nameOf(certs[c.Expired])
	}
	if asked != "" {
		c.NameFits = fits(leaf, asked)
	}
	return c, true
}

// fits asks as clients do (RFC 9525), and as old ones did: the common name of a
// certificate without alternative names.
func fits(leaf *x509.Certificate, asked string) bool {
	host := strings.TrimSuffix(asked, ".")
	if a, err := netip.ParseAddr(host); err == nil {
		host = "[" + a.String() + "]"
	}
	if leaf.VerifyHostname(host) == nil {
		return true
	}
	return len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0 && matchesPattern(leaf.Subject.CommonName, host)
}

func matchesPattern(pattern, host string) bool {
	if strings.EqualFold(pattern, host) {
		return true
	}
	rest, ok := strings.CutPrefix(pattern, "*.")
	_, parent, dot := strings.Cut(host, ".")
	return ok && dot && strings.EqualFold(rest, parent)
}

// selfIssued asks for the signature too where the algorithm is still accepted.
func selfIssued(c *x509.Certificate) bool {
	if !bytes.Equal(c.RawIssuer, c.RawSubject) {
		return false
	}
	if len(c.AuthorityKeyId) > 0 && len(c.SubjectKeyId) > 0 {
		return bytes.Equal(c.AuthorityKeyId, c.SubjectKeyId)
	}
	return true
}

// weak names keys that browsers refuse (CA/Browser Forum Baseline Requirements,
// 6.1.5): RSA below 2048 bits, curves below 256 bits, signatures with MD5, SHA-1.
func weak(c *x509.Certificate) string {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if n := k.N.BitLen(); n < 2048 {
			return "RSA " + strconv.Itoa(n)
		}
	case *ecdsa.PublicKey:
		if n := k.Curve.Params().BitSize; n < 256 {
			return "ECDSA " + strconv.Itoa(n)
		}
	case *dsa.PublicKey:
		return "DSA"
	case ed25519.PublicKey:
	}
	switch c.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA:
		return "MD5 signature"
	case x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		if !selfIssued(c) {
			return "SHA-1 signature"
		}
	default:
	}
	return ""
}

func nameOf(c *x509.Certificate) string {
	if c.Subject.CommonName != "" {
		return c.Subject.CommonName
	}
	return c.Subject.String()
}

func issuerOf(c *x509.Certificate) string {
	if c.Issuer.CommonName != "" {
		return c.Issuer.CommonName
	}
	return c.Issuer.String()
}
