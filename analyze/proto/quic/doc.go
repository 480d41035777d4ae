// Package quic reads what QUIC shows to those in the middle: versions, Retry,
// the Initial packets (their keys follow from the connection id, so that
// everyone can read them: RFC 9001, 5.2), lengths and times.
//
// Everything behind the Initial packets is encrypted; the analyzer times it and
// says nothing of its content. A connection that ends in silence looks the same
// from outside whether it was closed or lost.
package quic
