package correlate

import (
	"hash/maphash"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/hosts"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/http"
)

// SearchPage is the code of names whose own host sends a client to a search page.
const SearchPage finding.Code = "dns.search-page"

const (
	// A page that sends its reader on does it at once; what is searched for later
	// was typed.
	sentOnWithin = 10 * second
	maxSearches  = 1 << 10
	maxVisits    = 1 << 14
)

// SearchPages finds names whose answer is no host of theirs but a search page.
func SearchPages() Spec {
	return Spec{
		Name: "search", Doc: "names that lead to a search page in place of a host",
		New: func() Correlator { return &searches{names: maphash.MakeSeed()} },
		Codes: []finding.Def{{
			Code: SearchPage, Severity: finding.Notice,
			Doc: "A client asked the address that a lookup gave for a name, and was sent on, within ten seconds, to a page that searches for that very name: somebody answers for names that do not exist (RFC 4924, 2.5.2).",
			Metrics: []finding.Metric{
				{Name: "name", Text: true, Doc: "the name"},
				{Name: "address", Text: true, Doc: "that the lookup gave"},
				{Name: "page", Text: true, Doc: "host of the search page"},
			},
		}},
	}
}

type visited struct {
	id     flow.ID
	server hosts.Number
	frame  uint64
	start  int64
}

type searched struct {
	http.Search

	frame uint64
	at    int64
}

type searches struct {
	names  maphash.Seed
	visits cases[visited] // first of each client to each name over HTTP
	asked  []searched
}

// Hears implements Listener.
func (*searches) Hears() []any { return []any{(*http.Search)(nil)} }

// Event notes searches for a host name.
func (s *searches) Event(_ *Out, e *proto.Event) {
	if x, ok := e.Body.(*http.Search); ok && len(s.asked) < maxSearches {
		s.asked = append(s.asked, searched{*x, e.Frame, e.Time})
	}
}

// Conn notes who was asked over HTTP for which name.
func (s *searches) Conn(_ *Out, c *Folded) {
	if c.App != "http" || c.Name == "" || s.visits.all.len() >= maxVisits {
		return
	}
	v, _ := s.visits.entry(named(s.names, c.From, strings.ToLower(c.Name)), maxVisits)
	if v == nil || v.frame != 0 && v.start <= c.Start {
		return
	}
	*v = visited{id: c.ID, server: c.To, frame: c.First, start: c.Start}
}

// named is the key of a host and a name. The seed makes two alike as unlikely as it
// can be, whoever chose the names.
func named(seed maphash.Seed, host hosts.Number, name string) uint64 {
	if host == 0 {
		return 0
	}
	return max(maphash.String(seed, name)+uint64(host), 1)
}

// End compares the two.
func (s *searches) End(o *Out) {
	told := map[uint64]bool{}
	for i := range s.asked {
		x := &s.asked[i]
		k := named(s.names, o.Hosts.Of(x.Client), strings.ToLower(x.For))
		v, _ := s.visits.get(k)
		if v == nil || told[k] || x.at < v.start || x.at-v.start > sentOnWithin {
			continue
		}
		told[k] = true
		var ev finding.Evidence
		ev.Add(v.frame, v.start)
		ev.Add(x.frame, x.at)
		o.Emit(finding.Finding{
			Code: SearchPage, Severity: finding.Notice, Flow: v.id, Evidence: ev,
			Values: []finding.Value{finding.Text(x.For), finding.Text(o.Hosts.Addr(v.server).String()), finding.Text(x.Host)},
		})
	}
}
