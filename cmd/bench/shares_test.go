package main

import (
	"strings"
	"testing"
	"time"
)

// What an analyzer hands on is the time of who takes it.
func TestMeterIsExclusive(t *testing.T) {
	t.Parallel()
	m := &meter{took: map[string]time.Duration{}, calls: map[string]int{}, since: time.Now()}
	leave := m.enter("tls")
	inner := m.enter("http")
	if m.now != "http" {
		t.Errorf("now %q, want http", m.now)
	}
	inner()
	leave()
	if m.now != "" || m.calls["tls"] != 1 || m.calls["http"] != 1 {
		t.Errorf("now %q, calls %v", m.now, m.calls)
	}
	m.took = map[string]time.Duration{"tls": time.Hour, "http": 3 * time.Hour}
	var b strings.Builder
	m.print(&b, "dir/mixed.pcap", 10*time.Hour)
	if got := b.String(); !strings.Contains(got, "mixed: share") || strings.Index(got, "http  30.0%") > strings.Index(got, "tls   10.0%") {
		t.Errorf("table:\n%s", got)
	}
}

func TestSharesOfAFile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := run(t.Context(), []string{shareOf, "../../" + demo}, &b); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.Contains(got, "analyzer  share") {
		t.Errorf("table:\n%s", got)
	}
}

// demo is a capture in which an analyzer has something to do.
const demo = "fixtures/captures/slow-database.pcap"
