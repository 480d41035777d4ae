package correlate

import (
	"hash/maphash"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/dns"
)

// Tunnel is the code of data carried in names.
const Tunnel finding.Code = "dns.tunnel"

// What makes a tunnel: see the Doc of the code. Each name is used once, because
// a cached answer would end the tunnel; it is long, because it is the message.
const (
	maxDomains    = 1 << 12
	maxNames      = 1 << 10 // different names remembered of one domain
	tunnelNames   = 25
	tunnelLength  = 24 // bytes of a name before the domain, on average
	tunnelRepeats = 1.5
)

// Tunnels looks for data in names: many different long names under one domain.
func Tunnels() Spec {
	return Spec{
		Name: "dns tunnels", Doc: "data carried in the names of DNS queries",
		New: func() Correlator { return &tunnels{seed: maphash.MakeSeed()} },
		Codes: []finding.Def{{
			Code: Tunnel, Severity: finding.Notice,
			Doc: "One client asked for at least 25 different names under one domain, each about once, with 24 bytes or more before the domain on average. Names that people or programs use are shorter and come again; reverse lookups are left out. Some virus scanners and block lists ask in this way too.",
			Metrics: []finding.Metric{
				{Name: "domain", Text: true, Doc: "what the names have in common"},
				{Name: "names", Doc: "different names"},
				{Name: "queries", Doc: "queries, repetitions included"},
				{Name: "mean_bytes", Doc: "length of a name before the domain"},
				{Name: "bytes", Doc: "of all names before the domain: what could be carried up"},
				{Name: "odd_types", Doc: "queries for other types than A, AAAA, PTR, HTTPS and SRV"},
			},
		}},
	}
}

type domain struct {
	client  hosts.Number
	name    string
	names   int // different ones
	queries int
	bytes   int
	odd     int
	ev      finding.Evidence
}

type tunnels struct {
	seed    maphash.Seed
	domains cases[domain] // by client and name
	names   hosts.Set     // what stands before a domain, by the place of the domain
}

// Hears implements Listener.
func (*tunnels) Hears() []any { return []any{(*dns.Asked)(nil)} }

// Event implements Listener.
func (t *tunnels) Event(o *Out, e *proto.Event) {
	a, ok := e.Body.(*dns.Asked)
	if !ok {
		return
	}
	head, base := splitDomain(a.Name)
	if head == "" || base == "arpa" || strings.HasSuffix(base, ".arpa") {
		return
	}
	client := o.Hosts.Of(a.Client.Addr())
	d, at := t.domains.entry(named(t.seed, client, base), maxDomains)
	if d == nil {
		return
	}
	if d.queries == 0 {
		d.client, d.name = client, strings.Clone(base) // base is a part of a name of up to 500 bytes
	}
	d.queries++
	d.ev.Add(e.Frame, e.Time)
	if d.names < maxNames && t.names.Len() < maxMembers && t.names.Add(named(t.seed, hosts.Number(at), head)) {
		d.names++
		d.bytes += len(head)
	}
	switch a.Type {
	case "A", "AAAA", "PTR", "HTTPS", "SRV":
	default:
		d.odd++
	}
}

// splitDomain cuts a name before its last two labels, or three where the last
// two are those of a registry (co.uk, com.cn).
func splitDomain(name string) (head, base string) {
	cut := len(name)
	last := len(name)
	for label := range 3 {
		i := strings.LastIndexByte(name[:cut], '.')
		if i < 0 {
			return "", name
		}
		width := cut - i - 1
		cut = i
		if label == 1 && (len(name)-last > 3 || width > 3) || label == 2 {
			break
		}
		last = min(last, i)
	}
	return name[:cut], name[cut+1:]
}

// End implements Correlator.
func (t *tunnels) End(o *Out) {
	for d := range t.domains.all.each() {
		n := d.names
		if n < tunnelNames || d.bytes < n*tunnelLength || float64(d.queries) > tunnelRepeats*float64(n) && n < maxNames {
			continue
		}
		o.Emit(finding.Finding{
			Code: Tunnel, Severity: finding.Notice, Host: o.Hosts.Addr(d.client), Evidence: d.ev,
			Values: []finding.Value{
				finding.Text(d.name), finding.Num(n), finding.Num(d.queries), finding.Num(float64(d.bytes) / float64(n)),
				finding.Num(d.bytes), finding.Num(d.odd),
			},
		})
	}
}
