package web

import "testing"

// TestSearchedName finds a host name among what is searched for.
func TestSearchedName(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/search/?q=http%3A//nosuch.example/&r=&t=0": "nosuch.example",
		"/?query=nosuch.example":                     "nosuch.example",
		"/find?x=1&dn=nosuch.example":                "nosuch.example",
		"/search?q=how+to+cook":                      "",
		"/search?q=a b.c":                            "",
		"/login?continue=http%3A//app.example/":      "",
		"/":                                          "",
	} {
		if got := searchedName(target); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
}
