package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", "GET /index.html", "GET /index.html"},
		{"empty", "", ""},
		{"accents and Chinese stay", "café 服务器 ✓", "café 服务器 ✓"},
		{"colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"window title", "\x1b]0;owned\x07", `\x1b]0;owned\x07`},
		{"C1 CSI as UTF-8", "\u009b2J", `\u009b2J`},
		{"C1 CSI as a byte", "\x9b2J", `\x9b2J`},
		{"line breaks", "a\r\nb\tc", `a\r\nb\tc`},
		{"erase by backspace", "ok\b\bno", `ok\x08\x08no`},
		{"NUL and DEL", "a\x00b\x7f", `a\x00b\x7f`},
		{"right-to-left override", "evil\u202egpj.exe", `evil\u202egpj.exe`},
		{"zero width", "pay\u200bpal", `pay\u200bpal`},
		{"byte order mark", "\ufeffx", `\ufeffx`},
		{"tag characters", "x\U000e0041", `x\U000e0041`},
		{"variation selector", "x\ufe0f", `x\ufe0f`},
		{"no-break space", "a\u00a0b", `a\u00a0b`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"broken UTF-8", "a\xc3(", `a\xc3(`},
		{"private use", "\ue000", `\ue000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Printable(tt.in); got != tt.want {
				t.Errorf("Printable(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"much too long", 6, "much …"},
		{"数据库服务器", 7, "数据库…"},
		{"\x1b[1mx", 6, `\x1b[…`},
	}
	for _, tt := range tests {
		if got := Clip(tt.in, tt.n); got != tt.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestPaint(t *testing.T) {
	t.Parallel()
	if got := Paint(true).As(Red, "x"); got != "\x1b[1;31mx\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
	if got := Paint(false).As(Red, "x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
}

func TestNoColourIsObeyed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if UseColour(&b, false, func(string) string { return "" }) {
		t.Error("colour for something that is no terminal")
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[31m", "\xff\xfe", "\u202e", "服务器"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		if !utf8.ValidString(got) {
			t.Fatalf("Printable(%q) = %q is not UTF-8", s, got)
		}
		for _, r := range got {
			if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e {
				t.Fatalf("Printable(%q) = %q still holds %U", s, got, r)
			}
		}
		if again := Printable(got); again != got {
			t.Fatalf("Printable is not stable: %q, then %q", got, again)
		}
	})
}
