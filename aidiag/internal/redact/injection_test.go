package redact

import "testing"

// TestExpressions: each compiles; they do so when they are first asked only.
func TestExpressions(t *testing.T) {
	t.Parallel()
	for i := range patterns {
		if patterns[i].re().String() == "" {
			t.Errorf("pattern %d is empty", i)
		}
	}
}
