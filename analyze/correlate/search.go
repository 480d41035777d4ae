package correlate

import (
	"net/netip"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
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
		New: func() Correlator { return &searches{visits: map[visit]visited{}} },
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

type visit struct {
	client netip.Addr
	name   string
}

type visited struct {
	id     flow.ID
	server netip.Addr
	frame  uint64
	start  int64
}

type searched struct {
	http.Search

	frame uint64
	at    int64
}

type searches struct {
	visits map[visit]visited // first of each client to each name over HTTP
	asked  []searched
}

// Event notes searches for a host name.
func (s *searches) Event(_ *Out, e *proto.Event) {
	if x, ok := e.Body.(*http.Search); ok && len(s.asked) < maxSearches {
		s.asked = append(s.asked, searched{*x, e.Frame, e.Time})
	}
}

// Conn notes who was asked over HTTP for which name.
func (s *searches) Conn(_ *Out, c *conn.Summary) {
	if c.App != "http" || c.Name == "" {
		return
	}
	k := visit{c.Client.Addr.Addr(), strings.ToLower(c.Name)}
	if v, known := s.visits[k]; known && v.start <= c.Start || len(s.visits) >= maxVisits {
		return
	}
	s.visits[k] = visited{id: c.ID, server: c.Server.Addr.Addr(), frame: c.First, start: c.Start}
}

// End compares the two.
func (s *searches) End(o *Out) {
	told := map[visit]bool{}
	for i := range s.asked {
		x := &s.asked[i]
		k := visit{x.Client, strings.ToLower(x.For)}
		v, known := s.visits[k]
		if !known || told[k] || x.at < v.start || x.at-v.start > sentOnWithin {
			continue
		}
		told[k] = true
		var ev finding.Evidence
		ev.Add(v.frame, v.start)
		ev.Add(x.frame, x.at)
		o.Emit(finding.Finding{
			Code: SearchPage, Severity: finding.Notice, Flow: v.id, Evidence: ev,
			Values: []finding.Value{finding.Text(x.For), finding.Text(v.server.String()), finding.Text(x.Host)},
		})
	}
}
