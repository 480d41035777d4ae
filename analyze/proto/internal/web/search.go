package web

import (
	"net/netip"
	"slices"
	"strings"

	"netwhy/analyze/proto"
)

// Search is published for a request that asks a search page for a host name.
type Search struct {
	Client netip.Addr
	Host   string // of the page
	For    string // the name
}

// Searched publishes a Search if a request is one.
func Searched(s *proto.Scope, host, target string) {
	if name := searchedName(target); name != "" && !strings.EqualFold(name, host) {
		s.Publish(&Search{Client: s.Client().Addr(), Host: host, For: name})
	}
}

// searchedName is the host name, alone or in a URL, that a target has as what is
// searched for; empty: none.
func searchedName(target string) string {
	_, query, found := strings.Cut(target, "?")
	if !found {
		return ""
	}
	for param := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(param, "=")
		if !slices.Contains([]string{"q", "query", "search", "dn", "domain"}, key) {
			continue
		}
		value = strings.NewReplacer("%3A", ":", "%3a", ":", "%2F", "/", "%2f", "/").Replace(value)
		if _, rest, scheme := strings.Cut(value, "://"); scheme {
			value = rest
		}
		name, _, _ := strings.Cut(value, "/")
		if strings.Contains(name, ".") && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" {
			return name
		}
	}
	return ""
}
