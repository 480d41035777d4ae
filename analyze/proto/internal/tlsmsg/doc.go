// Package tlsmsg reads the messages of TLS handshakes: hellos, certificates and
// alerts, as TLS, DTLS and QUIC carry them. It is pure: no state, no time but
// what is handed in.
//
// It is shared because the three protocols differ in their records only, and a
// protocol imports no other.
package tlsmsg
