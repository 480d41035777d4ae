package correlate

import (
	"testing"

	"netwhy/analyze/conn"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto/http"
)

// TestSearchPages tells a page that sends its reader on from one that is asked.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	visit := func(name string, start int64) *conn.Summary {
		return &conn.Summary{
			ID: flow.ID{Proto: flow.TCP}, App: "http", Name: name, First: 1, Start: start, Stop: start + 1,
			Client: conn.Side{Addr: at(1, 4000)}, Server: conn.Side{Addr: at(2, 80)},
		}
	}
	search := func(name string) *http.Search {
		return &http.Search{Client: at(1, 0).Addr(), Host: "guide.example", For: name}
	}
	expect(t, told(t, SearchPages(), search("nosuch.example"), visit("nosuch.example", 1)))
	expect(t, told(t, SearchPages(), visit("other.example", 1), search("nosuch.example")))
	expect(t, told(t, SearchPages(), visit("nosuch.example", 1), search("nosuch.example")), SearchPage)
	expect(t, told(t, SearchPages(), visit("NoSuch.example", 1), search("nosuch.example"), search("nosuch.example")), SearchPage)
}
