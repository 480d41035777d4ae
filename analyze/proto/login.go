package proto

import "net/netip"

// Login is published for each attempt to authenticate whose result was seen: what
// many of them amount to is judged across conversations.
type Login struct {
	Protocol string // Wireshark's short name
	Client   netip.Addr
	Server   netip.AddrPort
	User     string // hostile; empty: not readable
	OK       bool
	Guessed  bool // told from sizes and times of encrypted packets
}
