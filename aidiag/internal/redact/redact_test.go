package redact

import (
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAddr(t *testing.T) {
	t.Parallel()
	tab := New(Options{})
	for _, c := range []struct{ in, want string }{
		{"10.0.0.5", "ip-priv-1.1"},
		{"10.0.0.9", "ip-priv-1.2"},
		{"192.168.1.1", "ip-priv-2.1"},
		{"10.0.0.5", "ip-priv-1.1"},
		{"::ffff:10.0.0.5", "ip-priv-1.1"},
		{"203.0.113.7", "ip-pub-1"},
		{"2001:db8::1", "ip6-pub-1"},
		{"fd00::1", "ip6-priv-3.1"},
		{"fe80::1", "ip6-link-1"},
		{"127.0.0.1", "ip-loop-1"},
		{"224.0.0.251", "ip-mcast-1"},
		{"255.255.255.255", "ip-mcast-2"},
		{"100.64.0.1", "ip-cgnat-1"},
		{"0.0.0.0", "ip-any-1"},
	} {
		if got := tab.Addr(netip.MustParseAddr(c.in)); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
	if got := tab.Restore("from ip-priv-1.2 to ip-pub-1:443, not ip-pub-9"); got != "from 10.0.0.9 to 203.0.113.7:443, not ip-pub-9" {
		t.Errorf("restored %q", got)
	}
	if got := tab.Unknown("ip-priv-1.2 and ip-priv-1.20 and host-3.", nil); strings.Join(got, " ") != "ip-priv-1.20 host-3" {
		t.Errorf("unknown %v", got)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"rcode", "NXDOMAIN", "NXDOMAIN"},
		{"method", "GET", "GET"},
		{"version", "TLS 1.2", "TLS 1.2"},
		{"cipher", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
		{"cipher", "TLS_IGNORE_ALL_RULES", "text-1"},
		{"alert", "unknown_ca", "unknown_ca"},
		{"status", "503", "503"},
		{"id", "123456", "text-1"},
		{"name", "www.example.com", "host-1(com)"},
		{"name", "WWW.Example.com.", "host-1(com)"},
		{"sni", "internal", "host-1"},
		{"name", "db.corp.payroll", "host-1"},
		{"path", "/secret?x=1", "path-1"},
		{"user", "alice", "user-1"},
		{"mac", "00:1B:44:11:3A:B7", "mac-1"},
		{"ips", "10.0.0.1, 10.0.0.2", "ip-priv-1.1, ip-priv-1.2"},
		{"addr", "[2001:db8::1]:53", "ip6-pub-1:53"},
		{"net", "10.1.2.0/24", "ip-priv-1.1/24"},
		{"user_agent", "Mozilla/5.0 (X11)", "user-1"},
		{"banner", "SSH-2.0-x\x1b[2J", "text-1"},
		{"x", "", ""},
		{"x", "get|evil", "text-1"},
	} {
		if got := New(Options{}).Text(c.name, c.in); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.in, got, c.want)
		}
	}
	open := New(Options{Names: true, UserAgents: true})
	if got := open.Text("sni", "db.corp.example") + " " + open.Text("user_agent", "curl/8\x1b[2J"); got != "db.corp.example curl/8[2J" {
		t.Errorf("by choice: %q", got)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[2Jb":                 "a[2Jb",
		"  a \n\t b  ":              "a b",
		"a\u202eb\u200bc\U000e0041": "abc",
		"\xff\xfea":                 "a",
		"1234567890123":             "123456789012…",
		"日本語日本語":                    "日本語日…",
	} {
		if got := Clean(in, 12); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzText: whatever packets hold, what may leave is a pseudonym or a word of
// the vocabulary.
func FuzzText(f *testing.F) {
	for _, s := range []string{"www.example.com", "10.0.0.1", "GET", "a, b", "\x1b[0m", "TLS_RSA", "[::1]:5", "1.2.3.4/8", "00:11:22:33:44:55", "fe80::1%eth0"} {
		f.Add("name", s)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		tab := New(Options{})
		got := tab.Text(name, value)
		if !utf8.ValidString(got) && inVocabulary(got) {
			t.Fatalf("%q became %q", value, got)
		}
		for w := range strings.FieldsFuncSeq(got, func(r rune) bool { return r == ',' || r == ' ' || r == '/' }) {
			bare, _, _ := strings.Cut(w, "(")
			if i := strings.LastIndexByte(bare, ':'); i > 0 && !strings.HasPrefix(bare, "mac") {
				bare = bare[:i]
			}
			if tokenLike().FindString(bare) != bare && !inVocabulary(w) && !inVocabulary(got) {
				t.Fatalf("%q became %q", value, got)
			}
		}
		Instruction(value)
		tab.Restore(value)
	})
}

func TestVendorOfAStation(t *testing.T) {
	t.Parallel()
	for mac, want := range map[string]string{
		"00:00:0c:12:34:56": "mac-1(cisco)",
		"00-50-56-AA-BB-CC": "mac-1(vmware)",
		"02:42:ac:11:00:02": "mac-1(local)",
		"01:00:5e:00:00:fb": "mac-1(group)",
		"00:00:00:00:00:00": "mac-1(xerox)",
		"fc:ff:ff:00:00:01": "mac-1",
	} {
		table := New(Options{})
		got := table.Text("mac", mac)
		if got != want {
			t.Errorf("%s is %q, want %q", mac, got, want)
		}
		if back := table.Restore("look at " + got + "."); back != "look at "+strings.ToLower(mac)+"." {
			t.Errorf("%s comes back as %q", got, back)
		}
	}
}
