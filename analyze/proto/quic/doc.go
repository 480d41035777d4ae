// Package quic reads what QUIC shows to those in the middle: versions, Retry,
// the Initial packets (their keys follow from the connection id, so that
// everyone can read them: RFC 9001, 5.2), lengths and times.
//
// Everything behind the Initial packets is encrypted; the analyzer times it and
// says nothing of its content. A connection that ends in silence looks the same
// from outside whether it was closed or lost.
//
// With the secrets of a key log the handshake and the data are opened (RFC 9001),
// and HTTP/3 inside is read (RFC 9114; QPACK with both of its tables, RFC 9204):
// requests, statuses, times, and why a connection was closed. Data sent before the
// handshake (0-RTT) stays closed, and so do other protocols, as DNS over QUIC.
package quic
