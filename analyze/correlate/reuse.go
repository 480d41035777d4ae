package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto/http"
)

// NoReuse is the code of connections that carry one request each.
const NoReuse finding.Code = "http.no-keep-alive"

const (
	maxServed = 1 << 12 // pairs of client and service
	// A browser opens six connections to a host at once (HTTP/1.1): more, each for
	// one request, are made because none may be used again.
	singleLeast = 10
	// What is lost is a round trip for each: people notice a second.
	setupLeast = second
)

// Reuse finds services whose connections are closed after one request.
func Reuse() Spec {
	return Spec{
		Name: "reuse", Doc: "HTTP connections that are not used again (RFC 9112, 9.3)",
		New: func() Correlator { return &reuse{} },
		Codes: []finding.Def{{
			Code: NoReuse, Severity: finding.Info,
			Doc: "A client opened ten connections or more to one service for one request each, because one of the two said that the connection is not to be used again (Connection: close, or HTTP/1.0), and one second or more went into opening them.",
			Metrics: []finding.Metric{
				{Name: "server", Text: true, Doc: "address and port of the service"},
				{Name: "connections", Doc: "with one request each"},
				{Name: "setup_seconds", Doc: "that opening them took, all together"},
				{Name: "by_server", Doc: "how many of them the server wanted closed; the client the others"},
			},
		}},
	}
}

// singles are the connections of a pair that carried one request.
type singles struct {
	server   netip.AddrPort
	flow     flow.ID
	n        int
	setup    int64
	byServer int
	told     int // connections when it was told last
	ev       evidence
}

type reuse struct {
	singles cases[singles] // by client and service, in the order in which they came up
	trail   trail
}

// Conn implements Reader.
func (r *reuse) Conn(o *Out, s *Folded) {
	if s.Exchanges != 1 || s.Handshake <= 0 {
		return
	}
	closer := s.Attr[http.Closes]
	if closer == "" {
		return
	}
	x, _ := r.singles.entry(channel(s.From, s.To, s.Server.Addr.Port()), maxServed)
	if x == nil {
		return
	}
	if x.n == 0 {
		x.server, x.flow = s.Server.Addr, s.ID
	}
	x.n++
	x.setup += s.Handshake
	if closer == "server" {
		x.byServer++
	}
	if x.told == 0 || s.First > x.ev.first {
		x.ev.add(&r.trail, s.First, s.Start, s.Start)
	} else {
		x.ev.count++ // a finding is known by its first frame: once told, it stays
	}
	if x.n >= 2*x.told {
		r.tell(o, x)
	}
}

// End implements Correlator.
func (r *reuse) End(o *Out) {
	for x := range r.singles.all.each() {
		if x.n > x.told {
			r.tell(o, x)
		}
	}
}

// tell says it, or says it again with larger figures.
func (r *reuse) tell(o *Out, x *singles) {
	if x.n < singleLeast || x.setup < setupLeast {
		return
	}
	x.told = x.n
	o.Emit(finding.Finding{
		Code: NoReuse, Severity: finding.Info, Flow: x.flow, Evidence: x.ev.done(&r.trail),
		Values: []finding.Value{
			finding.Text(x.server.String()), finding.Num(x.n), finding.Num(float64(x.setup) / float64(second)), finding.Num(x.byServer),
		},
	})
}
