package evidence

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"netwhy/aidiag/internal/redact"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

func input(findings, conns int) Input {
	in := Input{
		Local: diagnosis.Diagnosis{Cause: "tcp-packet-loss", Culprit: diagnosis.Network, Severity: finding.Critical, Confidence: 0.9, Excluded: []diagnosis.Exclusion{{Cause: "tcp-reordering"}}},
		Known: func(c diagnosis.Cause) bool { return c == "tcp-packet-loss" }, Table: redact.New(redact.Options{}), Trust: conn.Trust{Vantage: "client", Gaps: 3},
	}
	for i := range findings {
		f := finding.Finding{Code: "tcp.retransmission", Severity: finding.Severity(i % 4), Flow: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, Values: []finding.Value{finding.Num(float64(i) + 0.123456), finding.Text("evil text of a packet")}}
		for k := range 32 {
			f.Evidence.Add(uint64(i*100+k+1), int64(k)*int64(time.Second))
		}
		in.Items = append(in.Items, Item{ID: fmt.Sprintf("F%d", i+1), Finding: f, Cited: i < 3, Def: finding.Def{
			Doc: "A segment was sent again; decided as Wireshark does it.", Metrics: []finding.Metric{{Name: "stalled_seconds"}, {Name: "name", Text: true}},
		}})
	}
	for i := range conns {
		in.Connections = append(in.Connections, conn.Summary{
			ID: flow.ID{Proto: flow.TCP, Stream: uint32(i)}, Client: conn.Side{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 40000), Packets: 9, Bytes: 10, Retransmits: 4},
			Server: conn.Side{Addr: netip.MustParseAddrPort("203.0.113.9:443"), Packets: 5}, App: "tls", Name: "a.example", End: conn.EndReset, Attr: map[string]string{"tls.version": "TLS 1.2", "http.path": "/x"},
		})
	}
	return in
}

// TestFits: whatever the case, the document has its size, says what is missing,
// and keeps the heaviest facts.
func TestFits(t *testing.T) {
	t.Parallel()
	for _, tokens := range []int{200, 400, 800, 2000, 100000} {
		for _, n := range []int{1, 3, 300} {
			in := input(n, n)
			d := Build(in, tokens)
			size := len(d.JSON())
			if size > tokens*BytesPerToken && (len(d.Findings) != 1 || len(d.Connections) != 0) {
				t.Errorf("%d findings in %d tokens: %d bytes", n, tokens, size)
			}
			if len(d.Findings) == 0 || d.Findings[0].ID != "F3" { // cited, and the most severe of those
				if n >= 3 {
					t.Errorf("%d findings in %d tokens: first is %+v", n, tokens, d.Findings)
				}
			}
			whole := n < 30 && len(Build(input(n, n), 1<<20).JSON()) <= tokens*BytesPerToken
			if (len(d.LeftOut) == 0) != whole {
				t.Errorf("%d findings in %d tokens: left out %v", n, tokens, d.LeftOut)
			}
			for _, f := range d.Findings {
				if !slices.Contains(f.Frames, f.First) || !slices.Contains(f.Frames, f.Last) {
					t.Errorf("%s lost its first or last frame: %v", f.ID, f.Frames)
				}
			}
			for _, id := range d.Rules.Evidence {
				if _, ok := d.Finding(id); !ok {
					t.Errorf("cites %s, which is not there", id)
				}
			}
			if text := string(d.JSON()); strings.Contains(text, "evil") || strings.Contains(text, "203.0") || strings.Contains(text, "a.example") || strings.Contains(text, "/x") {
				t.Errorf("holds what it must not: %s", text)
			}
		}
	}
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	a, b := Build(input(40, 10), 1500).JSON(), Build(input(40, 10), 1500).JSON()
	if string(a) != string(b) {
		t.Error("the same case gave two documents")
	}
	var doc map[string]any
	if err := json.Unmarshal(a, &doc); err != nil {
		t.Error(err)
	}
}

func TestOwnCausesStay(t *testing.T) {
	t.Parallel()
	in := input(1, 0)
	in.Local.Cause = "payroll-server-slow"
	if d := Build(in, 1000); d.Rules.Cause != "other" || d.Rules.Excluded[0] != "other" {
		t.Errorf("got %+v", d.Rules)
	}
}

func TestRound(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]float64{11.2: 11.2, 0.123456: 0.1235, 0.00001234567: 0.00001235, 123456789: 123456789, 0: 0, 2.00004: 2} {
		if got := round(in); got != want {
			t.Errorf("%v: %v, want %v", in, got, want)
		}
	}
}
