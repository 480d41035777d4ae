package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/capture"
	"netwhy/capture/packet"
	"netwhy/cmd/netwhy/internal/config"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

// TestDoubt: a caveat stands next to what is missing at a time of losses, and
// next to nothing else.
func TestDoubt(t *testing.T) {
	t.Parallel()
	set, err := LoadRules(nil)
	if err != nil {
		t.Fatal(err)
	}
	at := func(seconds int64) report.Time { return report.Time(seconds * int64(time.Second)) }
	lossy := packet.Counters{DroppedKernel: 7}
	live := capture.Info{Kind: capture.KindLive, Counters: lossy, Losses: []capture.Loss{{From: int64(at(100)), To: int64(at(101)), Frames: 7}}}
	for _, tt := range []struct {
		name  string
		info  capture.Info
		code  string
		start report.Time
		want  bool
	}{
		{"missing at the time", live, "tcp.loss", at(99), true},
		{"the answer was due then", live, "dns.no-answer", at(95), true},
		{"no rule is woken by it", live, "radius.no-answer", at(102), true},
		{"long before", live, "tcp.loss", at(50), false},
		{"long after", live, "tcp.loss", at(200), false},
		{"seen, not missing", live, "tls.certificate-expired", at(100), false},
		{"a segment that was seen again", live, "tcp.retransmission", at(100), false},
		{"a file knows no times", capture.Info{Kind: capture.KindFile, Counters: lossy}, "tcp.loss", at(5), true},
		{"nothing was lost", capture.Info{Kind: capture.KindFile}, "tcp.loss", at(5), false},
	} {
		r := &report.Report{Findings: []report.Finding{{Code: tt.code, Start: tt.start, End: tt.start}}}
		doubt(r, &tt.info, set, config.English)
		if got := len(r.Findings[0].Caveats) == 1; got != tt.want {
			t.Errorf("%s: caveats %q", tt.name, r.Findings[0].Caveats)
		}
	}
}

// TestEveryReportTellsDoubts: where a person or a program reads of the symptom.
func TestEveryReportTellsDoubts(t *testing.T) {
	t.Parallel()
	for _, f := range formats() {
		switch f.name {
		case "text", "json", "html", "markdown", "ndjson":
		default: // formats of others, with their fields
			continue
		}
		r := reporttest.Stalled()
		r.Findings = slices.Clone(r.Findings)
		for i := range r.Findings {
			r.Findings[i].Caveats = []string{lossCaveat(config.English), "twice"}
		}
		var b bytes.Buffer
		sink := f.sink(&b, &Options{Lang: config.English}, false)
		for i := range r.Findings {
			if err := sink.Finding(&r.Findings[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Finish(r); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, "the capture lost frames at this time") {
			t.Errorf("%s says nothing of it", f.name)
		}
		if f.name == "json" && !json.Valid(b.Bytes()) {
			t.Errorf("no JSON any more:\n%s", b.String())
		}
	}
}
