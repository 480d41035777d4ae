// Package redact decides which words of a capture may leave the machine. It is
// an allow-list: numbers of our own analysis and protocol words that are in its
// vocabulary pass; addresses, names and every other text from packets become
// pseudonyms. The table that maps them back lives in memory only, and a
// pseudonym in an answer that is not in it proves an invention.
package redact

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"netwhy/aidiag/internal/lazily"
)

// Options are what the user chose to send in clear.
type Options struct {
	Names      bool // host names, at most 64 bytes each
	UserAgents bool // User-Agent texts, at most 64 bytes each
}

// maxEntries bounds a table; what comes later shares one pseudonym a kind.
const maxEntries = 1 << 16

// Table maps originals to pseudonyms for one capture. Safe for concurrent use.
type Table struct {
	opt Options

	mu   sync.Mutex
	to   map[string]string // kind and original: pseudonym
	back map[string]string // pseudonym: original
	nets map[netip.Prefix]int
	next map[string]int // by kind
}

// New makes an empty table.
func New(opt Options) *Table {
	return &Table{opt: opt, to: map[string]string{}, back: map[string]string{}, nets: map[netip.Prefix]int{}, next: map[string]int{}}
}

// Addr returns the pseudonym of an address: its scope, its network where that is
// private (so that it shows who is in one subnet), and a number.
func (t *Table) Addr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	a = a.Unmap()
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := "ip"
	if a.Is6() {
		kind = "ip6"
	}
	scope := scopeOf(a)
	kind += "-" + scope
	if scope != "priv" {
		return t.token(kind, a.String(), func(n int) string { return kind + "-" + strconv.Itoa(n) })
	}
	bits := 24
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return kind
	}
	return t.token(kind, a.String(), func(int) string {
		net, ok := t.nets[p]
		if !ok {
			net = len(t.nets) + 1
			t.nets[p] = net
		}
		inNet := kind + "-" + strconv.Itoa(net)
		t.next[inNet]++
		return inNet + "." + strconv.Itoa(t.next[inNet])
	})
}

func scopeOf(a netip.Addr) string {
	switch {
	case a.IsLoopback():
		return "loop"
	case a.IsUnspecified():
		return "any"
	case a.IsMulticast() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "mcast"
	case a.IsLinkLocalUnicast():
		return "link"
	case a.IsPrivate():
		return "priv"
	case netip.MustParsePrefix("100.64.0.0/10").Contains(a):
		return "cgnat"
	}
	return "pub"
}

// Port returns address and port, of which the port stays.
func (t *Table) Port(a netip.AddrPort) string {
	if !a.IsValid() {
		return ""
	}
	return t.Addr(a.Addr()) + ":" + strconv.Itoa(int(a.Port()))
}

// token is called with the lock held.
func (t *Table) token(kind, original string, name func(n int) string) string {
	key := kind + "\x00" + original
	if s, ok := t.to[key]; ok {
		return s
	}
	if len(t.to) >= maxEntries {
		return kind + "-other"
	}
	t.next[kind]++
	s := name(t.next[kind])
	t.to[key] = s
	t.back[s] = original
	return s
}

func (t *Table) plain(kind, original string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token(kind, original, func(n int) string { return kind + "-" + strconv.Itoa(n) })
}

// Text returns what may leave of a text from packets. name is the name of the
// metric, which only helps to choose the kind of the pseudonym.
func (t *Table) Text(name, value string) string {
	value = strings.TrimSpace(value)
	if value == "" || inVocabulary(value) {
		return value
	}
	if a, err := netip.ParseAddr(strings.Trim(value, "[]")); err == nil {
		return t.Addr(a.WithZone(""))
	}
	if a, err := netip.ParseAddrPort(value); err == nil {
		return t.Port(a)
	}
	if p, err := netip.ParsePrefix(value); err == nil {
		return t.Addr(p.Addr()) + "/" + strconv.Itoa(p.Bits())
	}
	if macLike().MatchString(value) {
		return t.mac(strings.ToLower(value))
	}
	if list := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }); len(list) > 1 && len(list) <= 16 && addresses(list) {
		for i, v := range list {
			list[i] = t.Text(name, v)
		}
		return strings.Join(list, ", ")
	}
	if agent := strings.Contains(name, "agent"); agent && t.opt.UserAgents {
		return Clean(value, 64)
	}
	if hostLike().MatchString(value) {
		return t.Host(value)
	}
	return t.plain(kindOf(name), value)
}

// mac returns the pseudonym of a station, with who made its interface: two stations
// that claim one address are told apart by that.
func (t *Table) mac(address string) string {
	s := t.plain("mac", address)
	if v := vendor(address); v != "" {
		return s + "(" + v + ")"
	}
	return s
}

func addresses(list []string) bool {
	for _, v := range list {
		if _, err := netip.ParseAddr(v); err != nil && !macLike().MatchString(v) && !inVocabulary(v) {
			return false
		}
	}
	return true
}

// Kinds of pseudonyms that several metrics share.
const (
	kindPath = "path"
	kindHost = "host"
	kindUser = "user"
)

func kindOf(name string) string {
	for _, k := range []struct{ word, kind string }{
		{"user", kindUser},
		{"login", kindUser},
		{"path", kindPath},
		{"uri", kindPath},
		{"url", kindPath},
		{"sni", kindHost},
		{"host", kindHost},
		{"name", kindHost},
		{"domain", kindHost},
		{"server", kindHost},
		{"mac", "mac"},
	} {
		if strings.Contains(name, k.word) {
			return k.kind
		}
	}
	return "text"
}

// Host returns the pseudonym of a name, with its public suffix where that is one
// of the few that tell nothing; or the name itself if the user chose so.
func (t *Table) Host(name string) string {
	name = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".")
	if name == "" {
		return ""
	}
	if t.opt.Names && hostLike().MatchString(name) {
		return Clean(name, 64)
	}
	s := t.plain(kindHost, name)
	if i := strings.LastIndexByte(name, '.'); i > 0 && commonSuffix(name[i+1:]) {
		return s + "(" + name[i+1:] + ")"
	}
	return s
}

var (
	macLike   = lazily.Regexp(`^(?i:[0-9a-f]{2}([:-][0-9a-f]{2}){5})$`)                                                                                 //nolint:gochecknoglobals // constant
	hostLike  = lazily.Regexp(`^[A-Za-z0-9_]([A-Za-z0-9_-]*\.)+[A-Za-z0-9-]{2,}\.?$`)                                                                   //nolint:gochecknoglobals // constant
	tokenLike = lazily.Regexp(`\b(?:ip6?-(?:priv-\d+\.\d+|(?:pub|loop|link|mcast|cgnat|any)-\d+)|(?:mac|host|user|path|text)-\d+)(?:\([a-z]{2,16}\))?`) //nolint:gochecknoglobals // constant
	anyToken  = lazily.Regexp(`\b(?:ip6?-[a-z]+-[0-9.]+|(?:mac|host|user|path|text)-\d+)\b`)                                                            //nolint:gochecknoglobals // constant
)

func commonSuffix(s string) bool {
	switch s {
	case "com", "net", "org", "edu", "gov", "io", "arpa", "local", "test", "invalid", "lan":
		return true
	}
	return false
}

// Restore puts the originals back. Texts from packets among them are hostile:
// sinks must escape them as any other.
func (t *Table) Restore(text string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return tokenLike().ReplaceAllStringFunc(text, func(s string) string {
		bare, _, _ := strings.Cut(s, "(")
		if o, ok := t.back[bare]; ok {
			return Clean(o, 128)
		}
		return s
	})
}

// Unknown returns what looks like a pseudonym of ours and is none, or is none of
// those in allowed (nil: all of the table): an invention.
func (t *Table) Unknown(text string, allowed map[string]bool) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, s := range anyToken().FindAllString(text, -1) {
		s = strings.TrimRight(s, ".")
		if _, ok := t.back[s]; !ok || allowed != nil && !allowed[s] {
			out = append(out, s)
		}
	}
	return out
}

// Tokens returns the pseudonyms in a text.
func Tokens(text string) []string {
	var out []string
	for _, s := range anyToken().FindAllString(text, -1) {
		out = append(out, strings.TrimRight(s, "."))
	}
	return out
}

// Clean removes what a terminal or a page would obey: control characters,
// escapes, direction marks and characters of no width; it joins white space and
// cuts to at most n bytes.
func Clean(s string, n int) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == 0xa0 || r == 0x2028 || r == 0x2029:
			space = true
			continue
		case Invisible(r):
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		if b.Len()+len(string(r)) > n {
			return b.String() + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Invisible reports whether a rune is a control, a direction mark, a character
// of no width, a tag, a private use or a broken one.
func Invisible(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xad, r == 0x61c, r == 0x180e, r == 0xfffd, r == 0xfeff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f, r >= 0xfff9 && r <= 0xfffb:
		return true
	case r >= 0xe000 && r <= 0xf8ff, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// Len is the number of pseudonyms.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.back)
}

func (t *Table) String() string { return fmt.Sprintf("%d pseudonyms", t.Len()) } // never the originals
