// Package dtls reads DTLS 1.0 to 1.3: records, handshakes put together from their
// fragments, alerts. What is said in them is that of package tls; its findings and
// codes are the same.
//
// # What DTLS 1.3 hides
//
// Behind the hellos a record shows its epoch and its length, no more (RFC 9147, 4):
// type and number are encrypted, and a connection id has the length that the hellos
// agreed on. A client's first record with keys of the handshake that can be no ACK
// ends the handshake. They are not decrypted: no key log of DTLS 1.3 is at hand to
// prove it with.
package dtls
