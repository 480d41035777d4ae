package ledger_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/ledger"
	"netwhy/capture"
)

// shared returns a folder of captures kept beside the repository.
func shared(tb testing.TB, name string) string {
	tb.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("captures are missing: %v", err)
		}
		tb.Skipf("captures are missing: %v", err)
	}
	return dir
}

func run(tb testing.TB, path string) *analyze.Result {
	tb.Helper()
	src, err := capture.Open(tb.Context(), []string{path}, capture.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := src.Close(); err != nil {
			tb.Error(err)
		}
	}()
	res, err := analyze.Run(tb.Context(), src, analyze.Options{Workers: 1}, nil)
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return res
}

// figures writes a finding's metrics by name.
func figures(f *finding.Finding, defs map[finding.Code]finding.Def) string {
	var b strings.Builder
	for i, m := range defs[f.Code].Metrics {
		if i >= len(f.Values) {
			break
		}
		if m.Text {
			fmt.Fprintf(&b, " %s=%s", m.Name, f.Values[i].Text)
		} else if f.Values[i].Num != 0 {
			fmt.Fprintf(&b, " %s=%.4g", m.Name, f.Values[i].Num)
		}
	}
	return b.String()
}

func defs() map[finding.Code]finding.Def {
	out := map[finding.Code]finding.Def{}
	for _, d := range ledger.Defs() {
		out[d.Code] = d
	}
	return out
}

type label struct{ name, cause, culprit, flow, scenario string }

func labels(tb testing.TB) (list []label) {
	tb.Helper()
	f, err := os.Open(filepath.Join(shared(tb, "lab"), "LABELS.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if c := strings.Split(s.Text(), "\t"); len(c) > 9 && c[0] != "name" {
			list = append(list, label{name: c[0], cause: c[2], culprit: c[3], flow: c[4], scenario: c[9]})
		}
	}
	return list
}

// ends matches a connection with the key_flow column of the labels.
func (l *label) concerns(s *conn.Summary) bool {
	for f := range strings.FieldsSeq(l.flow) {
		c, v, ok := strings.Cut(f, "-")
		if !ok {
			continue
		}
		match := func(pattern, addr string) bool {
			if p, ok := strings.CutSuffix(pattern, "*"); ok {
				return strings.HasPrefix(addr, p)
			}
			return pattern == addr
		}
		if match(c, s.Client.Addr.String()) && match(v, s.Server.Addr.String()) {
			return true
		}
	}
	return false
}

// tells is the symptom by which the rules can know a cause of the lab: a code on one
// of the labelled connections, with a figure above a limit, and words.
type tells struct {
	code   finding.Code
	metric string
	above  float64
	word   string // value of the text metric words[0]
	in     string
}

func byCause() map[string][]tells {
	return map[string][]tells{
		"tcp-packet-loss":              {{code: ledger.Loss, metric: "lost", above: 4}},
		"tcp-reordering":               {{code: ledger.OutOfOrder, metric: "segments", above: 10}},
		"high-latency-path":            {{code: ledger.HighRTT, metric: "rtt_ms", above: 400}},
		"bufferbloat":                  {{code: ledger.RTTGrowth, metric: "rtt_p95_ms", above: 1000}},
		"bandwidth-limited":            {{code: ledger.RatePlateau, metric: "saturated", above: 0.9}},
		"receiver-zero-window":         {{code: ledger.ZeroWindow, metric: "stalled_seconds", above: 5}},
		"small-receive-window":         {{code: ledger.SmallWindow, metric: "used", above: 0.4}},
		"slow-server-application":      {{code: ledger.SlowServer, metric: "worst_seconds", above: 1.5}},
		"connection-refused":           {{code: ledger.Refused, metric: "syns", above: 0}},
		"connection-timeout-no-answer": {{code: ledger.NoAnswer, metric: "syns", above: 1}},
		"firewall-reject":              {{code: ledger.ICMPError, metric: "fatal", above: 0, word: "admin-prohibited", in: "reason"}},
		"firewall-reset-injection":     {{code: ledger.ResetInjected, metric: "ttl_differs", above: 0}},
		"server-abort":                 {{code: ledger.Reset, metric: "mid_transfer", above: 0, word: ledger.SideServer, in: "side"}},
		"half-open-connection": {
			{code: ledger.ResetAfterIdle, metric: "idle_seconds", above: 1},
			{code: ledger.KeepAliveDead, metric: "probes", above: 2},
		},
		"idle-timeout-by-middlebox": {
			{code: ledger.Unanswered, metric: "idle_seconds", above: 3},
			{code: ledger.ResetAfterIdle, metric: "ttl_differs", above: 0},
		},
		"pmtu-black-hole":       {{code: ledger.PMTUBlackHole, metric: "passed_bytes", above: 100, word: ledger.SideServer, in: "side"}},
		"mtu-frag-needed":       {{code: ledger.ICMPError, metric: "mtu", above: 1000}},
		"icmp-host-unreachable": {{code: ledger.ICMPError, metric: "fatal", above: 0, word: "host-unreachable", in: "reason"}},
		"asymmetric-capture":    {{code: ledger.OneSided, metric: "worked", above: 0, word: ledger.SideServer, in: "side"}},
		"tls-handshake-stalled": {{code: ledger.NoResponse, metric: "tls", above: 0}},
		"slow-client-application": {
			{code: ledger.SlowClient, metric: "paused_seconds", above: 5},
			{code: ledger.ClientPauses, metric: "share", above: 0.7},
		},
		"http-slow-response": {
			{code: ledger.SlowServer, metric: "worst_seconds", above: 1.5},
			{code: ledger.ServerPauses, metric: "certain", above: 0},
		},
	}
}

// holds reports whether a finding is what tells a cause.
func (w *tells) holds(f *finding.Finding, defs map[finding.Code]finding.Def) bool {
	if f.Code != w.code {
		return false
	}
	ok := w.word == ""
	above := false
	for i, m := range defs[f.Code].Metrics {
		switch m.Name {
		case w.metric:
			above = f.Values[i].Num > w.above
		case w.in:
			ok = f.Values[i].Text == w.word
		}
	}
	return ok && above
}

// TestLab checks that each labelled fault of a connection has the symptom by which
// it is known, and that healthy captures have none that is a warning.
func TestLab(t *testing.T) {
	d, causes := defs(), byCause()
	for _, l := range labels(t) {
		want, ok := causes[l.cause]
		if !ok && l.cause != "healthy" && l.cause != "duplicate-packets" {
			continue
		}
		t.Run(l.name+" "+l.cause, func(t *testing.T) {
			res := run(t, filepath.Join(shared(t, "lab"), l.name))
			switch l.cause {
			case "healthy":
				for i := range res.Findings {
					if f := &res.Findings[i]; f.Severity > finding.Notice && strings.HasPrefix(string(f.Code), "tcp.") {
						t.Errorf("%s: %s", f.Code, figures(f, d))
					}
				}
				return
			case "duplicate-packets":
				code := ledger.DuplicateFrames
				if l.culprit == "none" {
					code = ledger.MirrorCopies
				}
				want = []tells{{code: code, metric: "frames", above: 5}}
			}
			for i := range res.Findings {
				f := &res.Findings[i]
				c := res.Connection(f.Flow)
				if c == nil || !l.concerns(c) {
					continue
				}
				for k := range want {
					if want[k].holds(f, d) {
						return
					}
				}
			}
			t.Errorf("nothing tells %s", l.cause)
		})
	}
}

// TestShowLab prints what is found in the labelled captures, for people who tune.
func TestShowLab(t *testing.T) {
	want := os.Getenv("LEDGER_SHOW")
	if want == "" {
		t.Skip("set LEDGER_SHOW to a name, a cause or all")
	}
	d := defs()
	for _, l := range labels(t) {
		if want != "all" && !strings.HasPrefix(l.name, want) && l.cause != want {
			continue
		}
		res := run(t, filepath.Join(shared(t, "lab"), l.name))
		var b strings.Builder
		fmt.Fprintf(&b, "== %s %s (%s) %s vantage=%s\n", l.name, l.cause, l.culprit, l.scenario, res.Trust.Vantage)
		for _, s := range res.Connections {
			if s.Proto != "tcp" {
				continue
			}
			mark := " "
			if l.concerns(s) {
				mark = "*"
			}
			fmt.Fprintf(&b, "%s%d %s-%s end=%s app=%s rtt=%.1f+%.1f x=%d score=%.3f van=%s", mark, s.ID.Stream, s.Client.Addr, s.Server.Addr, s.End, s.App,
				float64(s.HandshakeServer)/1e6, float64(s.HandshakeClient)/1e6, s.Exchanges, float64(s.Score)/1e9, s.Vantage)
			if s.Worst != nil {
				p, ns := s.Worst.Ledger.Largest()
				fmt.Fprintf(&b, " worst[%s %s %.3f/%.3f]", s.Worst.Protocol, conn.PartNames[p], float64(ns)/1e9, float64(s.Worst.Ledger.Total)/1e9)
			}
			b.WriteByte('\n')
			for k := range res.Findings {
				f := &res.Findings[k]
				if f.Flow != s.ID || f.Flow.Proto != flow.TCP {
					continue
				}
				if _, ours := d[f.Code]; !ours && mark == " " {
					continue
				}
				if mark == " " && f.Severity < finding.Notice {
					continue
				}
				fmt.Fprintf(&b, "     %-8s %-22s n=%d f=%v%s\n", f.Severity, f.Code, f.Evidence.Count, first(f.Evidence.Frames, 6), figures(f, d))
			}
		}
		t.Log(b.String())
	}
}

func first(f []uint64, n int) []uint64 { return f[:min(n, len(f))] }
