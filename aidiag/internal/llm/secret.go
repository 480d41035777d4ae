package llm

import (
	"errors"
	"log/slog"
	"strings"

	"netwhy/aidiag/internal/lazily"
)

const masked = "[key]"

// Secret is an API key. Every way of printing it masks it; the one place that
// reads it is the Authorization header of its own provider's hosts.
type Secret struct{ v string }

// NewSecret trims a key and refuses one that could not be a header value.
func NewSecret(s string) (Secret, error) {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return Secret{}, errors.New("the key holds a blank, line end or control character; it must be one printable word")
		}
	}
	return Secret{v: s}, nil
}

// IsZero reports whether there is no key.
func (s Secret) IsZero() bool { return s.v == "" }

func (s Secret) String() string {
	if s.v == "" {
		return ""
	}
	return masked
}

// GoString masks the key under %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText masks the key in JSON, YAML and text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON masks the key.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// LogValue masks the key in logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// scrub removes this key, and what looks like a key, from a provider's text and
// cuts it to 200 bytes of printable characters.
func (s Secret) scrub(text string) string {
	if s.v != "" {
		text = strings.ReplaceAll(text, s.v, masked)
	}
	text = keyLike().ReplaceAllString(text, masked)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff {
			return ' '
		}
		return r
	}, text)
	const most = 200
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.TrimSpace(text)
}

// keyLike matches what providers echo of a key, and long opaque tokens.
var keyLike = lazily.Regexp(`(?i)\b(?:sk|pk|rk|key|api|bearer)[-_][A-Za-z0-9*_\-]{6,}|[A-Za-z0-9_\-]{32,}|AIza[A-Za-z0-9_\-]{10,}`) //nolint:gochecknoglobals // constant
