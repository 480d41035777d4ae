package llm

import (
	"net/http"
	"testing"
	"time"
)

// TestRetryAfter: milliseconds before seconds before a date; nonsense is none,
// and nobody is given more than a day.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ms, header string
		want       time.Duration
	}{
		{"", "", 0},
		{"250", "7", 250 * time.Millisecond},
		{"", "2", 2 * time.Second},
		{"", "0.5", 500 * time.Millisecond},
		{"", "Sun, 01 Mar 2026 12:00:30 GMT", 30 * time.Second},
		{"", "Sun, 01 Mar 2026 11:00:00 GMT", 0},
		{"", "-3", 0},
		{"", "NaN", 0},
		{"", "soon", 0},
		{"", "1e300", 24 * time.Hour},
		{"nonsense", "3", 3 * time.Second},
	} {
		h := http.Header{}
		h.Set("Retry-After-Ms", c.ms)
		h.Set("Retry-After", c.header)
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%q %q: %v, want %v", c.ms, c.header, got, c.want)
		}
	}
}

// TestBodyRequestID: for support, also where no header has it.
func TestBodyRequestID(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"type":"error","error":{"type":"x"},"request_id":"req_011"}`: "req_011",
		`{"error":{"message":"x","request_id":"abc\u001b[2J"}}`:        "abc[2J",
		`{"error":"x"}`: "",
		`<html>`:        "",
	} {
		if got := bodyRequestID([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
