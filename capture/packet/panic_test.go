package packet

import (
	"errors"
	"strings"
	"testing"
)

func TestRescue(t *testing.T) {
	t.Parallel()
	var got error
	note := func(err error) { got = err }
	func() {
		defer Rescue("a test", note)
	}()
	if got != nil {
		t.Errorf("nothing happened, and yet: %v", got)
	}
	var none []int
	func() {
		defer Rescue("a test", note)
		_ = none[len(t.Name())]
	}()
	var fault *PanicError
	if !errors.As(got, &fault) || !strings.Contains(got.Error(), "in a test: runtime error: index out of range") || !strings.Contains(got.Error(), "(panic_test.go:") {
		t.Errorf("got %v", got)
	}
}
