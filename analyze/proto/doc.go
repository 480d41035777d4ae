// Package proto is the socket for protocol analyzers: what an analyzer
// declares (Spec), does (Analyzer), sees and can say (Scope). One folder below
// holds one protocol; only the list in package analyze names them all, and no
// protocol imports another.
package proto
