package cli

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"netwhy/cmd/netwhy/internal/lang"
)

// TestHelpInChinese: every text of commands and flags has its line in
// lang/zh.tsv, and the library's words are replaced.
func TestHelpInChinese(t *testing.T) {
	t.Parallel()
	zh := lang.Of(lang.Chinese)
	need := func(where, english string) {
		if english != "" && !zh.Has(english) {
			t.Errorf("lang/zh.tsv has no line for this (%s):\n%s", where, strings.Join(strings.Fields(english), " "))
		}
	}
	var walk func([]*cli.Command)
	walk = func(commands []*cli.Command) {
		for _, c := range commands {
			need(c.Name, c.Usage)
			for p := range strings.SplitSeq(c.Description, "\n\n") {
				if !strings.HasPrefix(p, "  ") { // examples
					need(c.Name, p)
				}
			}
			for _, f := range c.Flags {
				need(c.Name+" --"+f.Names()[0], reflect.ValueOf(f).Elem().FieldByName("Usage").String())
			}
			walk(c.Subcommands)
		}
	}
	english := &session{Process: Process{Args: []string{"netwhy"}}}
	app := english.app()
	need("netwhy", app.Usage)
	walk(app.Commands)

	for _, args := range [][]string{{"netwhy", "help"}, {"netwhy", "replay", "--help"}, {"netwhy", "rules", "--help"}} {
		var out bytes.Buffer
		if code := Main(Process{Args: args, Stdout: &out, Stderr: &out, Environ: []string{"LANG=zh_CN.UTF-8"}}); code != 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
		for _, word := range []string{"NAME:", "USAGE:", "OPTIONS:", "COMMANDS:", "show help", "(default", "command options"} {
			if strings.Contains(out.String(), word) {
				t.Errorf("%v says %q:\n%s", args, word, &out)
			}
		}
	}
}

func TestLanguage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want    string
		args    []string
		environ []string
	}{
		{"en", []string{"netwhy", "help"}, nil},
		{"zh", []string{"netwhy", "help"}, []string{"LANG=zh_CN.UTF-8"}},
		{"zh", []string{"netwhy", "replay", "--lang=zh", "--help"}, nil},
		{"zh", []string{"netwhy", "replay", "--lang", "zh", "--help"}, []string{"LANG=en_US.UTF-8"}},
		{"en", []string{"netwhy", "replay", "--lang", "en"}, []string{"NETWHY_LANG=zh"}},
		{"zh", []string{"netwhy"}, []string{"NETWHY_LANG=zh"}},
	} {
		s := &session{Process: Process{Args: tt.args, Environ: tt.environ}}
		if got := s.language(); got != tt.want {
			t.Errorf("%v %v: %s, want %s", tt.args, tt.environ, got, tt.want)
		}
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	got := prose(lang.Of(lang.Chinese), "flags and\nexamples\n\n  netwhy x        flags and examples\n  netwhy y z\n\nnobody said this")
	want := "选项和示例\n\n  netwhy x        选项和示例\n  netwhy y z\n\nnobody said this"
	if got != want {
		t.Errorf("%q", got)
	}
}
