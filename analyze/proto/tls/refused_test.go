package tls

import "testing"

// TestRefused checks which cut segments tshark 4.0.17 takes for TLS, where the
// connection has it.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"e+#?\xc7\xd7": true, "a ~b": true, "e+#": false, "e+#\x7f": false, "\x17\x03\x03\x40": false, "e\nab": false, "\xe9abc": false,
	} {
		if got := refused([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
