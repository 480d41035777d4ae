package llm

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func readEvents(raw io.Reader) (string, error) {
	b := newEventBody(&exchange{}, io.NopCloser(raw))
	out, err := io.ReadAll(b)
	return string(out), err
}

// FuzzEvents: whatever a server sends, the body ends cleanly only behind a stop
// marker, never panics, and does not depend on how the bytes were cut.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		"", "data: [DONE]\n\n", "data:[DONE]", "\xef\xbb\xbfdata: {}\r\r", ": c\n\n", "event: error\ndata: {}\n\n", "<html>", "{\"error\":1}\n",
		"data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n", "data: {\"choices\":[{\"delta\":{\"content\":[{\"text\":\"x\"}]}}]}\n\n",
		"data: {\"error\":{\"code\":429}}\n\n", "data: [1,2]\n\ndata\n:\n\n", "id: 1\nretry: 5\ndata: {\"choices\":null,\"usage\":{}}\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		whole, err := readEvents(strings.NewReader(string(raw)))
		pieces, err2 := readEvents(iotest.OneByteReader(strings.NewReader(string(raw))))
		if (err == nil) != (err2 == nil) || err == nil && whole != pieces {
			t.Fatalf("%q: whole %q %v, byte by byte %q %v", raw, whole, err, pieces, err2)
		}
		if ended := strings.HasSuffix(whole, "data: [DONE]\n\n"); ended != (err == nil) {
			t.Fatalf("%q: ended %t, err %v", raw, ended, err)
		}
		if err == nil && !strings.Contains(string(raw), "DONE") && !strings.Contains(string(raw), "finish") && !strings.Contains(string(raw), `\u`) {
			t.Fatalf("%q: a clean end without a stop marker", raw)
		}
		for line := range strings.Lines(whole) {
			if line != "\n" && !strings.HasPrefix(line, "data: {") && line != "data: [DONE]\n" {
				t.Fatalf("%q: unclean frame %q", raw, line)
			}
		}
	})
}

func TestEventLimits(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("data: \n", 2<<20) // an event of 2 MiB in small lines
	for _, raw := range []string{many, "data: " + strings.Repeat("x", maxLine+1) + "\n\n"} {
		_, err := readEvents(strings.NewReader(raw))
		if _, ok := errors.AsType[*BodyLimitError](err); !ok {
			t.Errorf("%d bytes: got %v, want a limit", len(raw), err)
		}
	}
}
