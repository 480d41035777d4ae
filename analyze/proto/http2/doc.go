// Package http2 reads HTTP/2 in clear text, or decrypted by package tls: frames,
// streams and their times, gRPC status, and why a connection or stream ended.
//
// # Why a hole ends the reading of headers
//
// Header compression (RFC 7541) builds on everything sent before: after one lost
// header block every later one can mean something else. From then on streams are
// timed and counted, but not named.
package http2
