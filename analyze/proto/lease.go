package proto

import (
	"fmt"
	"net/netip"
)

// Lease is what DHCP (RFC 2131) and DHCPv6 (RFC 8415) tell alike: a client wants
// an address, a server gives or refuses one.
type Lease struct {
	Op      LeaseOp
	V6      bool
	XID     uint64
	Client  [6]byte // hardware address of the client as the message names it
	ID      string  // DHCPv6: the client's DUID
	From    netip.AddrPort
	To      netip.AddrPort
	SrcMAC  [6]byte      // of the frame
	VLAN    uint16       // of the frame
	Address netip.Addr   // asked for or given; not valid: none
	Server  netip.Addr   // identifier of the server; not valid: none
	Relay   netip.Addr   // through which it came; not valid: none
	Router  netip.Addr   // given as default gateway
	DNS     []netip.Addr // given as resolvers
	Seconds uint32       // of the lease; 0: not told
	Name    string       // text of the server, or name of a DHCPv6 status; hostile
	Renews  bool         // a request that asks for more time
	Rapid   bool         // DHCPv6: rapid commit
}

// LeaseOp tells what a Lease says.
type LeaseOp uint8

// What a Lease says. DHCPv6's solicit and advertise are discover and offer.
const (
	LeaseNone LeaseOp = iota
	LeaseDiscover
	LeaseOffer
	LeaseRequest
	LeaseAck
	LeaseNak
	LeaseDecline
	LeaseRelease
	LeaseInform
)

// MACText writes a hardware address as people do.
func MACText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}
