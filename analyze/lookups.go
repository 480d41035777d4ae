package analyze

import (
	"net/netip"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
)

const (
	// A client connects as soon as it has the address; RFC 8305, 5 lets it wait
	// 250 ms for a better one. What follows later used an address that it knew.
	lookupBefore = second
	maxLookups   = 1 << 14
)

// lookups ties the answers of name servers to the connections that follow.
type lookups struct {
	hosts   *hosts.Numbers
	waiting hosts.Table[lookup] // by client and address
	of      hosts.Table[int64]  // ns that open connections waited for theirs, by flow.ID.Key
}

type lookup struct{ start, end int64 }

// answered remembers an answer until somebody connects.
func (l *lookups) answered(e proto.Lookup) {
	client, start, end := e.LookedUp()
	if start == 0 || end <= start {
		return
	}
	if l.waiting.Len() >= maxLookups {
		l.waiting.Clear() // the oldest are long over, and a lost one costs an explanation only
	}
	_, addrs := e.NamedAddrs()
	for _, a := range addrs {
		*l.waiting.At(l.hosts.Pair(client, a)) = lookup{start, end}
	}
}

// opened takes a connection that begins at a time.
func (l *lookups) opened(id flow.ID, client, server netip.Addr, at int64) {
	if l.waiting.Len() == 0 {
		return
	}
	x := l.waiting.Take(l.hosts.Pair(client, server))
	if x.start != 0 && at >= x.end && at-x.end <= lookupBefore && l.of.Len() < maxLookups {
		*l.of.At(id.Key()) = x.end - x.start
	}
}

// closed gives the lookup to the summary, and to the ledger of the exchange that
// had to wait for it: the first one, which waited for the handshake too.
func (l *lookups) closed(s *conn.Summary) {
	ns := l.of.Take(s.ID.Key())
	if ns == 0 {
		return
	}
	s.Lookup = ns
	if w := s.Worst; w != nil && w.Ledger.Part[conn.Connect] > 0 && w.Ledger.Part[conn.DNS] == 0 {
		w.Ledger.Add(conn.DNS, ns)
	}
}
