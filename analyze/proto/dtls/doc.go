// Package dtls reads DTLS over UDP: its records and fragments; the handshake is
// judged as that of TLS (package internal/handshake), with the same findings.
// Nothing is decrypted.
package dtls
