package analyze

import (
	"bytes"
	"testing"

	"netwhy/analyze/proto/assigned"
)

// TestOnly: streams that are named the short way have one name, whatever is in them.
func TestOnly(t *testing.T) {
	t.Parallel()
	u := newCalled(newSpecs(Protocols()).names)
	some := 0
	for n, list := range u.lists {
		if u.only[n+1] == 0 {
			continue
		}
		some++
		if len(list) != 1 || list[0] != u.only[n+1]-1 || assigned.Waits(n) {
			t.Errorf("list %d has one name only, %d", n, u.only[n+1]-1)
		}
		for c := range 256 {
			for _, b := range [][]byte{bytes.Repeat([]byte{byte(c)}, 40), append([]byte{byte(c)}, "a plain line v=0 { }\r\n"...)} {
				if inside := assigned.Inside(n, b); inside != "" {
					t.Fatalf("list %d: %q has %s inside", n, b, inside)
				}
			}
		}
	}
	if some < 100 {
		t.Errorf("%d lists are named the short way", some)
	}
}
