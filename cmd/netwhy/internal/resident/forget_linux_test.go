package resident

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestConstantSegments: each lies in one mapping that cannot be written and is of
// this program's file; the code is among them, and no variable.
func TestConstantSegments(t *testing.T) {
	t.Parallel()
	if unsafe.Sizeof(uintptr(0)) < 8 {
		t.Skip("only programs of 64 bits are looked at")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = maps.Close() }()
	segments := constantSegments()
	code := 0
	found := make([]bool, len(segments))
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var begin, end uintptr
		var rights string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &begin, &end, &rights); err != nil {
			t.Fatal(err)
		}
		for i, s := range segments {
			switch {
			case s[1] <= begin || end <= s[0]:
			case s[0] >= begin && s[1] <= end && rights[1] == '-' && strings.HasSuffix(lines.Text(), self):
				found[i] = true
				if rights[2] == 'x' {
					code++
				}
			default:
				t.Errorf("%x-%x is not all in %s", s[0], s[1], lines.Text())
			}
		}
	}
	for i, ok := range found {
		if !ok {
			t.Errorf("%x is not mapped", segments[i])
		}
	}
	if code != 1 {
		t.Errorf("%d segments of code", code)
	}
}

// TestForget: what ran before runs after.
func TestForget(t *testing.T) {
	t.Parallel()
	before := fmt.Sprint(constantSegments())
	for range 3 {
		Forget()
	}
	if after := fmt.Sprint(constantSegments()); after != before || before == "[]" {
		t.Errorf("%s became %s", before, after)
	}
}
