package proto

import "net/netip"

// Media is published for each place that a session description names for media to
// be sent to (RFC 8866).
type Media struct {
	Addr     netip.Addr
	Port     uint16 // UDP
	Control  uint16 // of its RTCP; 0: none
	Repeated bool   // by a message that repeats what was said
}
