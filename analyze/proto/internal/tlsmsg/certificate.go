package tlsmsg

import (
	"bytes"
	"crypto/dsa" //nolint:staticcheck // old certificates have such keys; they are named, not used
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/netip"
	"slices"
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

// Chain is what a server's certificates say, at a given time. Conversations share it.
type Chain struct {
	Length     int
	Subject    string // of the leaf: hostile
	Issuer     string
	Names      []string // DNS names and addresses of the leaf, at most maxNames
	NotBefore  time.Time
	NotAfter   time.Time
	Until      string // NotAfter in the form of RFC 3339
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

// Reading is what can be said of a chain whoever asks and whenever.
type Reading struct {
	Schemas []string // sets of names that the certificates use: they are counted as protocols

	chain Chain
	valid []validity        // of each certificate that could be read
	leaf  *x509.Certificate // names only
	last  *Chain            // judged last, for asked
	asked string
}

// validity is that of one certificate, and whose it is.
type validity struct {
	from, until time.Time
	subject     string
}

// readChain parses a chain. The leaf must be readable; others that are not end it.
func readChain(ders [][]byte) *Reading {
	r := &Reading{}
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
		return r
	}
	leaf, last := certs[0], certs[len(certs)-1]
	c := Chain{
		Length: len(ders), Subject: nameOf(leaf), Issuer: issuerOf(leaf), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter,
		SelfSigned: selfIssued(leaf), Root: selfIssued(last), Ordered: true, WeakKey: weak(leaf),
	}
	for i, cert := range certs {
		if i > 0 && !bytes.Equal(certs[i-1].RawIssuer, cert.RawSubject) {
			c.Ordered = false
		}
		r.valid = append(r.valid, validity{cert.NotBefore, cert.NotAfter, nameOf(cert)})
	}
	c.Names = append(c.Names, leaf.DNSNames[:min(len(leaf.DNSNames), maxNames)]...)
	for _, ip := range leaf.IPAddresses[:min(len(leaf.IPAddresses), maxNames)] {
		c.Names = append(c.Names, ip.String())
	}
	r.chain = c
	r.leaf = &x509.Certificate{DNSNames: leaf.DNSNames, Subject: pkix.Name{CommonName: leaf.Subject.CommonName}}
	for _, ip := range leaf.IPAddresses {
		r.leaf.IPAddresses = append(r.leaf.IPAddresses, slices.Clone(ip)) // it refers to the bytes read
	}
	return r
}

// Judge holds the chain against the name asked for and a time; nil: it has no
// readable leaf. Trust is not judged: nobody knows which roots the client has.
func (r *Reading) Judge(asked string, at time.Time) *Chain {
	if len(r.valid) == 0 {
		return nil
	}
	expired, early := -1, -1
	for i := range r.valid {
		if expired < 0 && at.After(r.valid[i].until) {
			expired = i
		}
		if early < 0 && at.Before(r.valid[i].from) {
			early = i
		}
	}
	if r.last != nil && r.last.Expired == expired && r.last.NotYetValid == early && r.asked == asked {
		return r.last
	}
	c := r.chain
	c.Expired, c.NotYetValid, c.NameFits = expired, early, asked == "" || fits(r.leaf, asked)
	if expired > 0 {
		c.NotAfter, c.Subject = r.valid[expired].until, r.valid[expired].subject
	}
	c.Until = c.NotAfter.UTC().Format(time.RFC3339)
	r.last, r.asked = &c, asked
	return r.last
}

// Chains remembers the chains of certificates met before: servers send the same ones
// to everybody.
type Chains struct {
	read  [2]map[string]*Reading // by message; before TLS 1.3, and in its form
	bytes int
}

// maxChains bounds the bytes that are remembered; a message has 2 to 6 KiB.
const maxChains = 512 << 10

// Read reads a Certificate message; v13 is the form of TLS 1.3. fit is false when it
// breaks its own lengths: what was read before stands.
func (m *Chains) Read(body []byte, v13 bool) (r *Reading, fit bool) {
	form := 0
	if v13 {
		form = 1
	}
	if r = m.read[form][string(body)]; r != nil {
		return r, true
	}
	ders, fit := SplitChain(body, v13)
	r = readChain(ders)
	r.Schemas = schemasIn(body)
	const record = 1 << 10 // bytes of a Reading, about
	if !fit || len(body) > maxChains/8 {
		return r, fit
	}
	if m.bytes += len(body) + record; m.bytes > maxChains {
		*m = Chains{bytes: len(body) + record}
	}
	if m.read[form] == nil {
		m.read[form] = map[string]*Reading{}
	}
	m.read[form][string(body)] = r
	return r, true
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
