package dns

import "net/netip"

// MaxAddrs bounds the addresses kept of one answer.
const MaxAddrs = 16

// Asked is published for each query when it is seen first, and again when it is
// sent again: who waits for which name. Names are in lower case and hostile.
type Asked struct {
	Client   netip.AddrPort
	Resolver netip.Addr
	Name     string
	Type     string // "A", "AAAA", ...
}

// Lookup is published when a query was answered with addresses.
type Lookup struct {
	Client netip.Addr
	Name   string // in lower case; hostile
	Start  int64  // when the query was sent first, ns since 1970 UTC; 0: it was not captured
	Waited int64  // to the answer, ns
	Addrs  []netip.Addr
}

// NamedAddrs implements proto.Named: the name that was asked for belongs to the
// addresses of the answer, whatever aliases lie between.
func (l *Lookup) NamedAddrs() (name string, addrs []netip.Addr) { return l.Name, l.Addrs }

// LookedUp implements proto.Lookup.
func (l *Lookup) LookedUp() (client netip.Addr, start, end int64) {
	return l.Client, l.Start, l.Start + l.Waited
}
