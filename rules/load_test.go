package rules_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"netwhy/rules"
)

// TestBadRules loads each file of testdata/bad: a bad example for each check,
// with the message that its author should get in its first lines.
func TestBadRules(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "bad", "*.bad.yaml"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Base(name)
			_, err = rules.LoadOnly(defs(), rules.Dir{FS: fstest.MapFS{base: {Data: data}}, Path: base})
			if err == nil {
				t.Fatal("loaded without a fault")
			}
			for line := range strings.Lines(string(data)) {
				want, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: ")
				if !ok {
					break
				}
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %s\n got %v", want, err)
				}
			}
			if _, ok := errors.AsType[*rules.Error](err); !ok {
				t.Errorf("%T: a fault is a *rules.Error", err)
			}
		})
	}
}

// TestAllFaultsAtOnce: an author mends a file in one round.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	const text = `
- id: a-b
  on: [tcp.zero-windo, tcp.window-ful]
  when: tcp.zero_window.nothing > 1
  culprit: nobody
  severity: bad
  confidence: "'x'"
  titel: {en: x}
  title: {en: "${x.y}"}
  explanation: {zh: 只有中文}
`
	_, err := rules.LoadOnly(defs(), rules.Dir{FS: fstest.MapFS{"a.yaml": {Data: []byte(text)}}})
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != 9 {
		t.Errorf("want 9 faults, got %v", err)
	}
}

// TestReplace: a rule of one's own takes the place of one with the same id.
func TestReplace(t *testing.T) {
	t.Parallel()
	second := strings.Replace(zeroWindow, "stalled_seconds >= 1", "stalled_seconds >= 100", 1)
	s, err := rules.LoadOnly(defs(),
		rules.Dir{FS: fstest.MapFS{"x/a.yaml": {Data: []byte(zeroWindow)}, "x/readme.md": {Data: []byte("no rule")}}},
		rules.Dir{FS: fstest.MapFS{"b.yml": {Data: []byte(second)}}, Path: "b.yml", Name: "/etc/netwhy/b.yml"})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := s.Rule("receiver-zero-window")
	if !ok || r.When != "tcp.zero_window.stalled_seconds >= 100" || r.Pos.String() != "/etc/netwhy/b.yml:2:5" || len(s.Rules()) != 1 {
		t.Errorf("got %+v", r)
	}
	if _, ok := s.Rule("nothing"); ok {
		t.Error("found a rule that is not there")
	}
}

// TestCheck: what a rule can do without is told by check only.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := loadText(t, `
- id: receiver-zero-window
  on: [tcp.zero-window]
  when: conn.packets >= 0
  culprit: client
  severity: warning
  confidence: 0.9
  title: {en: t}
  explanation: {en: e}
`)
	err := s.Check(true)
	if err == nil {
		t.Fatal("nothing to object to")
	}
	for _, want := range []string{
		"no why", "no remedies", "no fires", "no silent", "no title in Chinese", "no explanation in Chinese",
		"when holds even if everything is 0",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in %v", want, err)
		}
	}
	if s := loadText(t, zeroWindow); s.Check(true) != nil {
		t.Errorf("a complete rule: %v", s.Check(true))
	}
}

func TestMissingPlace(t *testing.T) {
	t.Parallel()
	_, err := rules.LoadOnly(defs(), rules.Dir{FS: fstest.MapFS{}, Path: "none.yaml", Name: "/tmp/none.yaml"})
	if err == nil || !strings.Contains(err.Error(), "/tmp/none.yaml") {
		t.Errorf("got %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(zeroWindow))
	f.Add([]byte(causeAndEffect))
	files, err := filepath.Glob(filepath.Join("testdata", "bad", "*.bad.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		s, err := rules.LoadOnly(defs(), rules.Dir{FS: fstest.MapFS{"f.yaml": {Data: data}}})
		if err != nil {
			return
		}
		// What loads can be asked: no panic, no fault that load should have found.
		w := newWorld()
		c := w.conn(1, "10.0.0.9:4000", "10.0.0.5:80")
		for i, d := range defs() {
			w.find(c, "10.0.0.5", d.Code, uint64(i)+1)
		}
		s.Diagnose(&w.in, rules.Options{})
		_ = s.Check(true)
	})
}

func mapFS(text string) fstest.MapFS { return fstest.MapFS{"own.yaml": {Data: []byte(text)}} }
