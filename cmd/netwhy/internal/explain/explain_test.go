package explain_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"netwhy/analyze"
	"netwhy/cmd/netwhy/internal/explain"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/figures"
	reportjson "netwhy/cmd/netwhy/internal/report/json"
	"netwhy/cmd/netwhy/internal/report/reporttest"
	"netwhy/rules"
)

var builtinOnce = sync.OnceValues(func() (*rules.Set, error) { return rules.Load(analyze.Defs()) })

func builtin(t *testing.T) *rules.Set {
	t.Helper()
	set, err := builtinOnce()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestChineseIsWhole: what symptoms, figures and rules say in English has its
// Chinese in lang/zh.tsv.
func TestChineseIsWhole(t *testing.T) {
	t.Parallel()
	set, zh := builtin(t), lang.Of(lang.Chinese)
	missing := map[string]string{}
	need := func(where, english string) {
		if english != "" && !zh.Has(english) {
			missing[strings.Join(strings.Fields(english), " ")] = where
		}
	}
	for _, d := range set.Codes() {
		need(string(d.Code), d.Doc)
		for _, m := range d.Metrics {
			need(string(d.Code)+" "+m.Name, m.Doc)
			name := m.Name
			if !m.Text {
				name = figures.Bare(name)
			}
			if !zh.HasFigure(name) {
				missing["figure "+name] = string(d.Code)
			}
		}
	}
	for _, r := range set.Rules() {
		need("rule "+r.ID, r.Why)
	}
	for english, where := range missing {
		t.Errorf("lang/zh.tsv has no line for this (%s):\n%s", where, english)
	}
}

// TestPagesInChinese: apart from names, conditions and references no page says
// more than five English words in a row.
func TestPagesInChinese(t *testing.T) {
	t.Parallel()
	book := explain.New(builtin(t), lang.Chinese)
	english := regexp.MustCompile(`([A-Za-z][a-z',]+ ){5,}[a-z]+`)
	for _, name := range book.Names() {
		var what any = book.Causes(name)
		if s, ok := book.Symptom(name); ok {
			what = s
		}
		var b bytes.Buffer
		if err := book.Page(&b, false, nil, what); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			label := strings.Fields(line)
			if len(label) > 0 && label[0] == "参考" {
				break // the titles of books and standards
			}
			if m := english.FindString(line); m != "" && !strings.ContainsAny(line, "=&|'\"") {
				t.Errorf("%s: %q", name, m)
			}
		}
	}
}

func written(t *testing.T, r *report.Report) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, reporttest.Written(t, reportjson.New, r), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFoundAndDecided: a report that is read back is explained as it was written.
func TestFoundAndDecided(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"en", "zh"} {
		book := explain.New(builtin(t), language)
		r, err := book.Read(written(t, reporttest.Stalled()))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := book.Page(&b, false, r, book.Finding(r, "F1")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"F1 tcp.zero-window", "tcp.stream == 7 && frame.number in {4411", "D1 receiver-zero-window: server 10.0.0.5:5432 stopped", "11.2 s", "RFC 9293, 3.8.6.1",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: F1 does not say %q:\n%s", language, want, &b)
			}
		}
		b.Reset()
		if err := book.Page(&b, false, r, book.Diagnosis(r, "D1")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"receiver-zero-window", "10.0.0.9:41022", "tcp.zero_window.stalled_seconds >= 1", "11.3 s =", "high-latency-path", "RFC 9293, 3.8.6.1"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: D1 does not say %q:\n%s", language, want, &b)
			}
		}
		if book.Finding(r, "F99") != nil || book.Diagnosis(r, "D99") != nil {
			t.Error("what is not there was explained")
		}
	}
}

// TestHostile: what a packet put into a report cannot reach the terminal.
func TestHostile(t *testing.T) {
	t.Parallel()
	book := explain.New(builtin(t), "en")
	r, err := book.Read(written(t, reporttest.Attack()))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"F1", "F2", "D1", "D2"} {
		var what any = book.Finding(r, id)
		if id[0] == 'D' {
			what = book.Diagnosis(r, id)
		}
		var b bytes.Buffer
		if err := book.Page(&b, false, r, what); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\r\u009b\u202e") {
			t.Errorf("%s: %q", id, b.String())
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	book := explain.New(builtin(t), "en")
	for _, tt := range []struct{ name, content, want string }{
		{"no JSON", "x", "name a file made with --format json -o"},
		{"another document", `{"schema": "other/1"}`, `its schema is "other/1"`},
		{"another shape", `{"schema": "netwhy.report/1", "findings": [{"severity": "awful"}]}`, "make it anew"},
	} {
		path := filepath.Join(t.TempDir(), "r.json")
		if err := os.WriteFile(path, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := book.Read(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := book.Read("nowhere.json"); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestForPrograms(t *testing.T) {
	t.Parallel()
	book := explain.New(builtin(t), "en")
	s, ok := book.Symptom("tcp.zero-window")
	if !ok {
		t.Fatal("no tcp.zero-window")
	}
	b, err := json.Marshal(map[string]any{"s": s, "c": book.Causes("receiver-zero-window")})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "null") || strings.Contains(string(b), "${") {
		t.Errorf("%s", b)
	}
}
