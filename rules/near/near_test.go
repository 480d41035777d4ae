package near_test

import (
	"testing"

	"netwhy/rules/near"
)

func TestName(t *testing.T) {
	t.Parallel()
	known := []string{"capture", "config", "explanation", "remedies", "replay", "title", "tcp.zero-window"}
	for _, c := range []struct{ name, want string }{
		{"relpay", "replay"},
		{"titel", "title"},
		{"tcp.zero_window", "tcp.zero-window"},
		{"explanations", "explanation"},
		{"remedy", ""},
		{"kafka", ""},
		{"", ""},
		{"x", ""},
		{"title", ""}, // it is right: no hint is wanted
	} {
		got, ok := near.Name(c.name, known)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Name(%q) = %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
	if got, want := near.Hint("confg", known), `; did you mean "config"?`; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"abc", "abc", 0},
		{"abc", "", 3},
		{"abc", "acb", 1},
		{"kitten", "sitting", 3},
		{"零窗口", "零窗", 1},
	} {
		if got := near.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := near.Distance(c.b, c.a); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
