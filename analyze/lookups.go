package analyze

import (
	"net/netip"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
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
	waiting map[lookedUp]lookup
	of      map[flow.ID]int64 // ns that open connections waited for theirs
}

type lookedUp struct{ client, server netip.Addr }

type lookup struct{ start, end int64 }

func newLookups() *lookups {
	return &lookups{waiting: map[lookedUp]lookup{}, of: map[flow.ID]int64{}}
}

// answered remembers an answer until somebody connects.
func (l *lookups) answered(e proto.Lookup) {
	client, start, end := e.LookedUp()
	if start == 0 || end <= start {
		return
	}
	if len(l.waiting) >= maxLookups {
		clear(l.waiting) // the oldest are long over, and a lost one costs an explanation only
	}
	_, addrs := e.NamedAddrs()
	for _, a := range addrs {
		l.waiting[lookedUp{client, a}] = lookup{start, end}
	}
}

// opened takes a connection that begins at a time.
func (l *lookups) opened(id flow.ID, client, server netip.Addr, at int64) {
	if len(l.waiting) == 0 {
		return
	}
	k := lookedUp{client, server}
	x, ok := l.waiting[k]
	if !ok {
		return
	}
	delete(l.waiting, k)
	if at >= x.end && at-x.end <= lookupBefore && len(l.of) < maxLookups {
		l.of[id] = x.end - x.start
	}
}

// closed gives the lookup to the summary, and to the ledger of the exchange that
// had to wait for it: the first one, which waited for the handshake too.
func (l *lookups) closed(s *conn.Summary) {
	ns, ok := l.of[s.ID]
	if !ok {
		return
	}
	delete(l.of, s.ID)
	s.Lookup = ns
	if w := s.Worst; w != nil && w.Ledger.Part[conn.Connect] > 0 && w.Ledger.Part[conn.DNS] == 0 {
		w.Ledger.Add(conn.DNS, ns)
	}
}
