package ledger_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
func shared(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("NETWHY_SHARED")
	if root == "" {
		root = filepath.Join("..", "..", "..", "shared")
	}
	dir := filepath.Join(root, name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("captures are missing: %v", err)
		}
		t.Skipf("captures are missing: %v", err)
	}
	return dir
}

func run(t testing.TB, path string) *analyze.Result {
	t.Helper()
	src, err := capture.Open(t.Context(), []string{path}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}()
	res, err := analyze.Run(t.Context(), src, analyze.Options{Workers: 1}, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
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

func labels(t testing.TB) (list []label) {
	t.Helper()
	f, err := os.Open(filepath.Join(shared(t, "lab"), "LABELS.tsv"))
	if err != nil {
		t.Fatal(err)
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
	for _, f := range strings.Fields(l.flow) {
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
		for i := range res.Connections {
			s := &res.Connections[i]
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

var _ = slices.Sort[[]int]
