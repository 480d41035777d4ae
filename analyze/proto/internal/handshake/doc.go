// Package handshake follows a TLS handshake from hello to Finished, whatever
// carries it: it says who waits for whom, what was chosen, what the certificates
// tell and how the handshake failed.
//
// TLS and DTLS differ in records and fragments; a Session takes whole messages
// and record events from either, and reports the findings tls.*.
package handshake
