package correlate

import (
	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/dns"
)

// WentOn is the code of clients that open connections after lookups without an answer.
const WentOn finding.Code = "dns.went-on"

const (
	// Who has an answer connects at once, at the latest when that for the other
	// address family is there; stubs ask again after 1 s or more (dns.NoAnswer).
	goesOn = second / 2
	// A stub asks for both families in one go.
	together = 50 * second / 1000
)

// Resolved finds lookups whose answers took another way than past the capture.
func Resolved() Spec {
	return Spec{
		Name: "lookups answered elsewhere", Doc: "clients that connect after lookups without an answer",
		New: func() Correlator { return &resolved{} },
		Codes: []finding.Def{{
			Code: WentOn, Severity: finding.Info,
			Doc: "Clients opened a connection within 0.5 s after lookups that have no answer with an address in the capture: they know the address, so the answer was not captured. Who waits for a resolver that does not answer connects later, or never.",
			Metrics: []finding.Metric{
				{Name: "lookups", Doc: "without an answer; those of one client within 50 ms are one"},
				{Name: "connected", Doc: "those after which the client opened a connection"},
			},
		}},
	}
}

type resolved struct {
	waiting hosts.Table[seeker] // clients that wait for an answer
	servers cases[wentOn]
}

// seeker is the latest lookup of a client.
type seeker struct {
	server hosts.Number
	at     int64
	frame  uint64
}

// wentOn is one resolver.
type wentOn struct {
	server             hosts.Number
	lookups, connected int
	ev                 finding.Evidence
}

// Hears implements Listener.
func (*resolved) Hears() []any { return []any{(*dns.Asked)(nil), (*dns.Lookup)(nil)} }

// Event implements Listener.
func (r *resolved) Event(o *Out, e *proto.Event) {
	switch x := e.Body.(type) {
	case *dns.Asked:
		k := uint64(o.Hosts.Of(x.Client.Addr()))
		if k == 0 || r.waiting.Len() >= maxPairs {
			return
		}
		c := r.waiting.At(k)
		if c.server != 0 {
			if e.Time-c.at < together {
				return
			}
			r.over(*c, false)
		}
		*c = seeker{server: o.Hosts.Of(x.Resolver), at: e.Time, frame: e.Frame}
	case *dns.Lookup:
		r.waiting.Take(uint64(o.Hosts.Of(x.Client)))
	}
}

// Opened implements Greeter.
func (r *resolved) Opened(o *Out, x *Opened) {
	if r.waiting.Len() == 0 {
		return
	}
	k := uint64(o.Hosts.Of(x.Client.Addr()))
	c := r.waiting.Get(k)
	if c.server != 0 && x.Time-c.at < goesOn && o.Hosts.Of(x.Server.Addr()) != c.server {
		r.over(r.waiting.Take(k), true)
	}
}

// over notes what became of a lookup.
func (r *resolved) over(c seeker, connected bool) {
	s, _ := r.servers.entry(uint64(c.server), maxPairs)
	if s == nil {
		return
	}
	s.server = c.server
	s.lookups++
	if connected {
		s.connected++
		s.ev.Add(c.frame, c.at)
	}
}

// End implements Correlator.
func (r *resolved) End(o *Out) {
	for _, c := range r.waiting.All() { // in any order: they are counted
		r.over(*c, false)
	}
	for s := range r.servers.all.each() {
		if s.connected == 0 {
			continue
		}
		o.Emit(finding.Finding{
			Code: WentOn, Severity: finding.Info, Host: o.Hosts.Addr(s.server), Evidence: s.ev,
			Values: []finding.Value{finding.Num(s.lookups), finding.Num(s.connected)},
		})
	}
}
