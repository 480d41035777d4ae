package figures_test

import (
	"testing"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
)

func TestOf(t *testing.T) {
	t.Parallel()
	codes := map[string]finding.Def{"tcp.reset": {Metrics: []finding.Metric{
		{Name: "side", Text: true, Doc: "client or server: in whose name the RST came"},
		{Name: "mid_transfer", Doc: "1: an exchange was cut off"},
		{Name: "after_seconds", Doc: "seconds from the last payload to the RST"},
		{Name: "resets", Doc: "RSTs in all"},
		{Name: "ttl"},
		{Name: "unacked_bytes"},
	}}}
	f := report.Finding{Code: "tcp.reset", Metrics: report.MetricsOf(map[string]any{
		"side": "client", "mid_transfer": 1.0, "after_seconds": 2.5, "resets": 1200.0, "ttl": 0.0, "unacked_bytes": 1500.0, "user": "client",
	})}
	unknown := f
	unknown.Code = "x.y"
	for _, tt := range []struct {
		name, lang string
		f          *report.Finding
		want       []string
	}{
		{"in order, with units", "en", &f, []string{"side client", "mid transfer", "after 2.50 s", "resets 1,200", "unacked 1.5 kB"}},
		{"Chinese", "zh", &f, []string{"一方 客户端", "传输中途", "之后 2.50 s", "RST 数 1,200", "未确认 1.5 kB"}},
		{"not declared", "en", &unknown, []string{"after 2.50 s", "mid transfer 1", "resets 1,200", "side client", "unacked 1.5 kB", "user client"}},
	} {
		got := figures.Of(tt.f, codes, lang.Of(tt.lang))
		if len(got) != len(tt.want) {
			t.Errorf("%s: %v", tt.name, got)
			continue
		}
		for i := range got {
			if got[i].String() != tt.want[i] {
				t.Errorf("%s: %q, want %q", tt.name, got[i], tt.want[i])
			}
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ns   int64
		want string
	}{
		{0, "0 s"},
		{999, "1 µs"},
		{350_000, "350 µs"},
		{1_000_000, "1 ms"},
		{48_123_456, "48.1 ms"},
		{480_123_456, "480 ms"},
		{999_900_000, "1.00 s"},
		{1_070_000_000, "1.07 s"},
		{75_000_000_000, "75.0 s"},
		{123_456_000_000_000, "34.3 h"},
		{10 * 86_400_000_000_000, "10.0 d"},
		{-5_000_000, "-5 ms"},
	}
	for _, tt := range tests {
		if got := figures.Seconds(tt.ns); got != tt.want {
			t.Errorf("Seconds(%d) = %q, want %q", tt.ns, got, tt.want)
		}
	}
}

func TestGroupedAndSize(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := figures.Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[uint64]string{0: "0 B", 999: "999 B", 1500: "1.5 kB", 567_890: "568 kB", 1 << 40: "1.1 TB"} {
		if got := figures.Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}
