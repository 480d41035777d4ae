package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// vars is an environment.
type vars map[string]string

func (v vars) Get(name string) string { return v[name] }

func (v vars) Names() []string {
	var out []string
	for k := range v {
		out = append(out, k)
	}
	return out
}

func load(t *testing.T, text string, env vars) (*Loaded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, env)
}

func TestFaultsHavePlaceAndNearName(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"unknown key at the top", "limit:\n  memory: 1GiB\n", `:1:1: unknown key "limit" at the top; did you mean "limits"?`},
		{"unknown key below", "limits:\n  conections: 5\n", `:2:3: unknown key "conections" under limits; did you mean "connections"?`},
		{"nothing near", "frobnicate: 1\n", `:1:1: unknown key "frobnicate" at the top`},
		{"bad size", "limits:\n  memory: much\n", `:2:11: limits.memory: "much" is no size; write it as 64MiB or 2GiB`},
		{"negative size", "limits:\n  memory: -5\n", `:2:11: limits.memory: "-5" is no size`},
		{"bad number", "limits:\n  connections: many\n", `:2:16: limits.connections: "many" is no whole number from 0 up`},
		{"fraction", "limits:\n  workers: 1.5\n", `:2:12: limits.workers: "1.5" is no whole number`},
		{"negative", "limits:\n  workers: -1\n", `:2:12: limits.workers: "-1" is no whole number from 0 up`},
		{"overflow", "limits:\n  workers: 99999999999999999999\n", `:2:12: limits.workers: "99999999999999999999" is no whole number`},
		{"bad language", "report: {lang: fr}\n", `:1:16: report.lang: "fr" is no language that netwhy speaks; use en or zh`},
		{"bad severity", "report:\n  min_severity: bad\n", `:2:17: report.min_severity: "bad" is no severity`},
		{"out of bounds", "capture: {snaplen: 3}\n", `:1: capture.snaplen: 3 bytes hold no packet's headers`},
		{"a list for a value", "report:\n  lang: [en]\n", "has to be a single value, not a list"},
		{"a value for keys", "limits: 3\n", "limits: this has to be keys and values (connections, memory, workers ...), not a single value"},
		{"no keys at all", "- a\n", "the file has to be keys and values"},
		{"not YAML", "limits: [1, 2\n", "not YAML"},
		{"key twice", "rules: []\nrules: []\n", "already defined"},
		{"alias", "rules: &a [x]\nreport: *a\n", "anchors and aliases are not read here"},
		{"two documents", "rules: []\n---\nrules: []\n", "a second document"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.text, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load(%q): %v\nwant it to say %s", tt.text, err, tt.want)
			}
		})
	}
}

func TestAIFaultsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	const file = `ai:
  deadline: 5h
  providers:
    - name: deepseek
    - name: mine
      model: m
      api_key_env: sk-123
      endpoints: [https://a.example/v1, ftp://b]
    - nam: x
`
	_, err := load(t, file, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`config.yaml:2: ai.deadline: 5h0m0s is not between 1s and 1h`,
		`config.yaml:7: ai.providers[1].api_key_env: this is the name of an environment variable, not the key itself`,
		`config.yaml:8: ai.providers[1].endpoints[1]: `,
		`config.yaml:9:7: unknown key "nam" under ai.providers[2]; did you mean "name"?`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing in:\n%v", want, err)
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, "limits: {memory: x, workers: y}\nreprot: {}\n", vars{"NETWHY_LANG": "klingon"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"x" is no size`, `"y" is no whole number`, `did you mean "report"?`, `$NETWHY_LANG: report.lang: "klingon"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	const file = "report: {lang: zh, min_severity: info}\nlimits: {connections: 5, workers: 3}\n"
	l, err := load(t, file, vars{"NETWHY_LIMITS_CONNECTIONS": "7", "NETWHY_MIN_SEVERITY": "critical", "LANG": "en_US.UTF-8", "NETWHY_RULES": "/a:/b"})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{l.Report.Lang, l.Limits.Connections, l.Limits.Workers, l.Report.MinSeverity, l.Limits.Memory.String(), l.Rules}
	want := []any{Chinese, Count(7), Count(3), Severity(3), "2GiB", []string{"/a", "/b"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("want -, got +:\n%s", d)
	}
}

func TestLanguageFollowsTheLocale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env  vars
		want Lang
	}{
		{vars{}, English},
		{vars{"LANG": "zh_CN.UTF-8"}, Chinese},
		{vars{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, English},
		{vars{"LANG": "de_DE", "LC_MESSAGES": "zh_TW"}, Chinese},
	}
	for _, tt := range tests {
		if got := Default(tt.env.Get).Report.Lang; got != tt.want {
			t.Errorf("locale %v: %s, want %s", tt.env, got, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "netwhy")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("limits: {workers: 9}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Load("", vars{"HOME": home})
	if err != nil {
		t.Fatal(err)
	}
	if l.Limits.Workers != 9 || l.File != filepath.Join(dir, "config.yaml") {
		t.Errorf("workers %d from %q", l.Limits.Workers, l.File)
	}
	if l, err = Load("", vars{"HOME": "/nonexistent"}); err != nil || l.File != "" || len(l.Searched) != 2 {
		t.Errorf("without a file: %q searched %v, %v", l.File, l.Searched, err)
	}
	if _, err = Load("/nonexistent/x.yaml", vars{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that was named and is not there: %v", err)
	}
	if _, err = Load(home, vars{}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestUnknownVariableIsTold(t *testing.T) {
	t.Parallel()
	l, err := load(t, "", vars{"NETWHY_OFLINE": "1", "NETWHY_OFFLINE": "1", "OTHER": "x", "NETWHY_LIMITS_MEMORY": "1GiB"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`$NETWHY_OFLINE: no setting has this name; did you mean "NETWHY_OFFLINE"?`}
	if d := cmp.Diff(want, l.Warnings); d != "" {
		t.Error(d)
	}
}

// TestShowReadsBack: what "config show" prints is a configuration with the same
// values.
func TestShowReadsBack(t *testing.T) {
	t.Parallel()
	l, err := load(t, "rules: ['/a b', \"/c: #d\"]\nlimits: {memory: 1500MB}\ncapture: {user: nobody}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := l.Show(&b); err != nil {
		t.Fatal(err)
	}
	again, err := load(t, b.String(), nil)
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, b.String())
	}
	if d := cmp.Diff(l.Config, again.Config, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s\nin\n%s", d, b.String())
	}
	if !strings.Contains(b.String(), "config.yaml:3") {
		t.Errorf("no origin in\n%s", b.String())
	}
}

func FuzzLoad(f *testing.F) {
	f.Add("limits: {memory: 1GiB}\n")
	f.Add("rules:\n  - a\nreport: {lang: zh}\n")
	f.Add("a: &x [1]\nb: *x\n")
	f.Add("? {}\n: x")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "f.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := Load(path, vars{})
		if l == nil && err == nil {
			t.Fatal("neither a configuration nor an error")
		}
	})
}

// TestFileOfSomebodyElse: a file that others may change names no AI providers.
func TestFileOfSomebodyElse(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes here")
	}
	const ai, rest = "ai:\n  providers: [{name: openai}]\n", "limits: {workers: 1}\n"
	for _, c := range []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"the user's", ai, 0o600, ""},
		{"readable", ai, 0o644, ""},
		{"own group", ai, 0o664, ""},
		{"anybody's", ai, 0o666, "anybody may change it (mode 0666): chmod o-w "},
		{"anybody's, without AI", rest, 0o666, ""},
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, vars{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), path+":2: ai.providers: the file names who is sent the key, and "+c.want+path) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
