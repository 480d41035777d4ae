// Package seal takes the protection off records of TLS, DTLS and packets of QUIC,
// with the secrets of a key log. Its ciphers are those of the standard library.
//
// It is shared because the three differ in how they number and frame what is
// protected, and in nothing else.
package seal
