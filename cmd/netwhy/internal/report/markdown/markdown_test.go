package markdown

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/reporttest"
)

var update = reporttest.Updating()

func write(t *testing.T, r *report.Report, lang string) string {
	t.Helper()
	var b bytes.Buffer
	if err := New(&b, lang).Finish(r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, lang string
		r          *report.Report
	}{
		{"empty", "en", reporttest.Empty()},
		{"healthy", "en", reporttest.Healthy()},
		{"healthy.zh", "zh", reporttest.Healthy()},
		{"stalled", "en", reporttest.Stalled()},
		{"stalled.zh", "zh", reporttest.Stalled()},
		{"asked", "en", reporttest.Asked()},
		{"many", "en", reporttest.Many()},
		{"attack", "en", reporttest.Attack()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reporttest.Golden(t, tt.name+".md", []byte(write(t, tt.r, tt.lang)), *update)
		})
	}
}

// TestNothingIsObeyed: no tag, link, mention or escape of a packet survives.
func TestNothingIsObeyed(t *testing.T) {
	t.Parallel()
	got := write(t, reporttest.Attack(), "en")
	for _, r := range got {
		if r != '\n' && (r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x202e) {
			t.Errorf("%U in the document", r)
		}
	}
	outside := regexp.MustCompile("(?s)```.*?```|`[^`]*`").ReplaceAllString(got, "")
	outside = strings.NewReplacer("<sub>", "", "</sub>", "").Replace(outside)
	if i := strings.IndexAny(outside, "<"); i >= 0 {
		t.Errorf("a tag: %q", outside[i:min(len(outside), i+40)])
	}
}

func TestCodeAndPlain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, got, want string }{
		{"code", code("tcp.stream == 7"), "`tcp.stream == 7`"},
		{"backticks in code", code("a``b"), "```a``b```"},
		{"a backtick at the end", code("a`"), "`` a` ``"},
		{"a bar", code("a|b"), "`a∣b`"},
		{"fence", fence("x"), "```sh\nx\n```"},
		{"fence in fence", fence("```"), "````sh\n```\n````"},
		{"markup", plain("*a* [b](c) <i> | # _x_"), `\*a\* \[b\](c) &lt;i&gt; \| \# \_x\_`},
		{"mention", plain("ask @admin"), "ask &#64;admin"},
		{"link", plain("https://evil.example"), "https&#58;//evil.example"},
		{"lines", plain("a\n\n# b"), `a \# b`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}
