// Package http reads HTTP/1.0 and 1.1: it pairs requests with responses, times
// them and says which failed. Bodies are counted and never kept.
//
// # Why not net/http
//
// ReadRequest wants a whole, well-formed message of one direction. A capture has
// both directions, holes, and the broken requests that one wants to find; and the
// core imports no net.
//
// Redirect loops may go over several connections: package correlate finds them
// in the Redirect events.
package http
