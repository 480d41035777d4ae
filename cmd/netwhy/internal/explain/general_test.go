package explain

import "testing"

func TestGeneral(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain",
		"server ${conn.server} took ${x > 1 ? 'a}' : \"b\"}, so": "server … took …, so",
		"${a} ${b}":          "…",
		"${map({1: 2})} end": "… end",
		"${never closed":     "…",
	} {
		if got := general(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
