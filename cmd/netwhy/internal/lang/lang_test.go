package lang_test

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"unicode"

	"netwhy/cmd/netwhy/internal/lang"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	zh, en := lang.Of("zh"), lang.Of("en")
	for _, tt := range []struct{ got, want string }{
		{en.Text("segments sent again"), "segments sent again"},
		{zh.Text("segments sent again"), "重发的报文段"},
		{zh.Text("segments\n  sent again "), "重发的报文段"},
		{zh.Text("nobody ever said this"), "nobody ever said this"},
		{en.Figure("rtt_p95"), "rtt p95"},
		{zh.Figure("stalled"), "停顿"},
		{zh.Figure("never_heard_of"), "never heard of"},
		{zh.Value("side", "client"), "客户端"},
		{zh.Value("user", "client"), "client"},
		{en.Value("side", "client"), "client"},
		{zh.NotAssessed("tls: encrypted"), "tls：已加密"},
		{en.NotAssessed("tls: encrypted"), "tls: encrypted"},
		{lang.Words{}.Text("x"), "x"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	zh := lang.Of("zh")
	for in, want := range map[string]string{
		"open x.pcap: there is no such file; check the spelling of the path": "打开 x.pcap：没有这个文件；请检查路径的拼写",
		`unknown command "replya"; did you mean "replay"?`:                   `未知命令 "replya"；您是否想用 "replay"？`,
		"see: netwhy help replay":                                            "参见：netwhy help replay",
		"open a: not a pcap or pcapng capture but plain text":                "打开 a：不是 pcap 或 pcapng 抓包，而是 纯文本",
		"nobody knows this; nor that":                                        "nobody knows this；nor that",
	} {
		if got := zh.Error(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := lang.Of("en").Error(in); got != in {
			t.Errorf("English: %q", got)
		}
	}
}

// TestTable: every line is a comment or a pair, no text stands twice, and what is
// called Chinese is Chinese.
func TestTable(t *testing.T) {
	t.Parallel()
	f, err := os.Open("zh.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]int{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		english, zh, ok := strings.Cut(line, "\t")
		switch {
		case !ok || english == "" || zh == "" || strings.Contains(zh, "\t"):
			t.Errorf("line %d is no pair: %q", n, line)
		case seen[english] > 0:
			t.Errorf("line %d: %q stands in line %d already", n, english, seen[english])
		case strings.HasPrefix(english, "error ") && strings.Count(english, "%s") != strings.Count(zh, "%s"):
			t.Errorf("line %d has other places for what differs: %q", n, zh)
		case strings.Count(english, " ") > 2 && !strings.ContainsFunc(zh, func(r rune) bool { return unicode.Is(unicode.Han, r) }):
			t.Errorf("line %d is not Chinese: %q", n, zh)
		}
		seen[english] = n
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
