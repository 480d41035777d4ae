package text

import (
	"testing"

	"netwhy/analyze"
)

// Whoever reads a protocol, people have a name for it, or it stands around one that
// has one.
func TestSpoken(t *testing.T) {
	t.Parallel()
	for _, s := range analyze.Protocols() {
		if spoken(s.Name) == "" && s.Name != "mbtcp" && s.Name != "nbss" && s.Name != "udpencap" {
			t.Errorf("nobody speaks of %s", s.Name)
		}
	}
	for name, want := range map[string]string{
		"tcp": "tcp", "x509ce": "", "ipv6.hopopts": "", "data-text-lines": "", "pgsql": "postgresql", "pppoes": "pppoe", "vlan": "vlan", "eth": "",
	} {
		if got := spoken(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
