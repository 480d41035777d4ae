// Package tls reads TLS over TCP: records, handshakes, alerts, and with secrets
// of a key log the data inside.
//
// # Why not crypto/tls
//
// crypto/tls is one end of a connection. A listener in the middle sees both
// halves, broken ones, and wants to know what was said before anything was
// agreed on. Certificates and ciphers are those of the standard library.
//
// # What encryption hides
//
// In TLS 1.3 certificates and alerts are encrypted. Without secrets the analyzer
// tells them by order and length only, and says so (tls.encrypted-alert); it
// never guesses which alert it was.
package tls
