package tlsmsg

import "bytes"

// schema is a set of names that certificates use.
type schema struct {
	name  string // as Wireshark calls and counts it
	shows string // DER of the beginning of an object identifier of the set
}

// schemas are those that certificates of servers have.
func schemas() []schema {
	return []schema{
		{"x509sat", "\x06\x03\x55\x04"},                                  // attribute types (X.520)
		{"x509ce", "\x06\x03\x55\x1d"},                                   // extensions (X.509)
		{"pkix1implicit", "\x06\x08\x2b\x06\x01\x05\x05\x07\x01\x01"},    // authority information access (RFC 5280, 4.2.2.1)
		{"pkix1explicit", "\x06\x08\x2b\x06\x01\x05\x05\x07\x02\x01"},    // practice statement (RFC 5280, 4.2.1.4)
		{"logotypecertextn", "\x06\x08\x2b\x06\x01\x05\x05\x07\x01\x0c"}, // logotypes (RFC 9399)
		{"ns_cert_exts", "\x06\x09\x60\x86\x48\x01\x86\xf8\x42\x01"},     // Netscape's extensions
	}
}

// schemasIn returns the name of each set of names that the certificates in a message
// use.
func schemasIn(body []byte) (names []string) {
	for _, x := range schemas() {
		if bytes.Contains(body, []byte(x.shows)) {
			names = append(names, x.name)
		}
	}
	return names
}

// SchemaNames are all that a Reading can have.
func SchemaNames() (names []string) {
	for _, x := range schemas() {
		names = append(names, x.name)
	}
	return names
}
