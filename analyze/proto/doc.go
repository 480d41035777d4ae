// Package proto is the socket for protocol analyzers: what an analyzer
// declares (Spec), does (Analyzer), sees and can say (Scope). One folder below
// holds one protocol; only the list in package analyze names them all, and no
// protocol imports another.
//
// # Why a protocol that was recognised may not be counted
//
// counters.protocols means what Wireshark's frame.protocols does, and Wireshark knows
// most protocols by their port alone. Spec says where it would know this one (Ports
// without Unlisted, or Anywhere). Elsewhere the analyzer reads as ever: findings,
// exchanges and the name of the connection stay, and the frames count for what package
// assigned makes of their ports.
package proto
