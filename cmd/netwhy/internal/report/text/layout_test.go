package text

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"netwhy/cmd/netwhy/internal/terminal"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		width    int
		want     []string
	}{
		{"short", "a b", 10, []string{"a b"}},
		{"words", "one two three", 7, []string{"one two", "three"}},
		{"exact", "one two", 7, []string{"one two"}},
		{"long word", "abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"long word after short", "a bcdefgh i", 4, []string{"a", "bcde", "fgh", "i"}},
		{"line breaks are spaces", "a\n  b\tc", 10, []string{"a b c"}},
		{"empty", "", 10, nil},
		{"figure and unit", "it took 9.01 s, so", 13, []string{"it took", "9.01 s, so"}},
		{"Chinese", "服务器停止读取数据", 8, []string{"服务器停", "止读取数", "据"}},
		{"no closing mark at the start", "服务器停，止读", 8, []string{"服务器", "停，止读"}},
		{"mixed", "RTT 为 48 ms，正常", 9, []string{"RTT 为 48", "ms，正常"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, wrap(tt.in, tt.width)); d != "" {
				t.Errorf("want -, got +:\n%s", d)
			}
		})
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two three", 7)
	f.Add("服务器，停止", 4)
	f.Add("\x1b[31m\xff", 3)
	f.Fuzz(func(t *testing.T, s string, width int) {
		if width < 2 || width > 200 || len(s) > 4096 {
			return
		}
		lines := wrap(s, width)
		for _, l := range lines {
			if w := terminal.Width(l); w > width && len([]rune(l)) > 1 {
				t.Errorf("wrap(%q, %d): line %q is %d wide", s, width, l, w)
			}
		}
		bare := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := bare(strings.Join(lines, "")), bare(terminal.Printable(strings.Join(strings.Fields(s), " "))); got != want {
			t.Errorf("wrap(%q, %d) lost text: %q, want %q", s, width, got, want)
		}
	})
}

// TestBothLanguagesSayAll: a phrase that is empty in one language would leave a
// hole in the report.
func TestBothLanguagesSayAll(t *testing.T) {
	t.Parallel()
	en, zh := reflect.ValueOf(*english()), reflect.ValueOf(*chinese())
	for i := range en.NumField() {
		name := en.Type().Field(i).Name
		a, b := en.Field(i), zh.Field(i)
		switch a.Kind() {
		case reflect.String:
			if a.String() == "" || b.String() == "" {
				t.Errorf("%s: %q in English, %q in Chinese", name, a, b)
			}
			if strings.Count(a.String(), "%") != strings.Count(b.String(), "%") {
				t.Errorf("%s: unlike figures in %q and %q", name, a, b)
			}
		case reflect.Map:
			for _, k := range a.MapKeys() {
				if !b.MapIndex(k).IsValid() {
					t.Errorf("%s: %s has no Chinese", name, k)
				}
			}
			if a.Len() != b.Len() {
				t.Errorf("%s: %d names in English, %d in Chinese", name, a.Len(), b.Len())
			}
		case reflect.Array:
		default:
			t.Errorf("%s: a kind that this test does not know: %s", name, a.Kind())
		}
	}
}
