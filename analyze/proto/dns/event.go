package dns

import "net/netip"

// MaxAddrs bounds the addresses kept of one answer.
const MaxAddrs = 16

// Asked is published for each query when it is seen first, and again when it is
// sent again: who waits for which name. Names are in lower case and hostile.
type Asked struct {
	Client, Resolver netip.AddrPort
	Name             string
	Type             string // "A", "AAAA", ...
	Again            uint32 // times it was sent before on this conversation
}

// Lookup is published when a query was answered, or given up.
type Lookup struct {
	Client, Resolver netip.AddrPort
	Name             string // in lower case; hostile
	Type             string // "A", "AAAA", ...
	Code             string // "NOERROR", "NXDOMAIN", ...; empty: no answer
	Answered         bool
	QuerySeen        bool // false: the capture has only the answer
	Truncated        bool // TC: ask again over TCP
	TCP              bool
	Multicast        bool // mDNS or LLMNR: nobody has to answer
	QueryFrame       uint64
	QueryTime        int64  // of the first time it was sent, ns since 1970 UTC
	Waited           int64  // to the answer, or to the end of what is known, ns
	Queries          uint32 // times it was sent
	Answers          int    // records in the answer
	Addrs            []netip.Addr
	TTL              uint32 // least of the answers, s
}

// NamedAddrs implements proto.Named: the name that was asked for belongs to the
// addresses of the answer, whatever aliases lie between.
func (l *Lookup) NamedAddrs() (name string, addrs []netip.Addr) { return l.Name, l.Addrs }

// LookedUp implements proto.Lookup.
func (l *Lookup) LookedUp() (client netip.Addr, start, end int64) {
	return l.Client.Addr(), l.QueryTime, l.QueryTime + l.Waited
}
