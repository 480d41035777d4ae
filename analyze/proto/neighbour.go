package proto

import "net/netip"

// Neighbour is what ARP (RFC 826, RFC 5227) and IPv6 Neighbor Discovery (RFC
// 4861) tell alike: somebody asks who has an address, or says to have one.
type Neighbour struct {
	Op   NeighbourOp
	IP   netip.Addr // asked for, or claimed
	MAC  [6]byte    // of who claims; zero in questions
	From netip.Addr // address of who asks or answers; not valid: none yet (DAD, RFC 4862)
	By   [6]byte    // hardware address of who sent the frame's message
	To   [6]byte    // destination of the frame
	VLAN uint16
	Copy bool // the frame is a copy made by the capture point
}

// NeighbourOp tells what a Neighbour says.
type NeighbourOp uint8

// What a Neighbour says.
const (
	Asks      NeighbourOp = iota // who has IP?
	Probes                       // may I have IP? (RFC 5227, 2.1; RFC 4862, 5.4)
	Answers                      // IP is at MAC, to one who may have asked
	Announces                    // IP is at MAC, to everybody, unasked
)

// Redirected is published for a redirect of IPv6 (RFC 4861, 4.5): a router tells a
// host of a better first hop.
type Redirected struct {
	From, To netip.Addr // router and host
	For      netip.Addr // where the host's packets go
}
