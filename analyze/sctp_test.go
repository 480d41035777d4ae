package analyze_test

import (
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/proto"
)

// TestChunksSentAgain counts a message over SCTP once, as tshark does: a mirror shows
// its chunk twice.
func TestChunksSentAgain(t *testing.T) {
	t.Parallel()
	response := func(tag, tsn byte) []byte {
		const text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
		b := []byte{0, 80, 0x9c, 0x40, 0, 0, 0, tag, 0, 0, 0, 0, 0, 3, 0, 16 + byte(len(text)), 0, 0, 0, tsn, 0, 0, 0, 0, 0, 0, 0, 0}
		return ipv4(server, client, 132, append(b, text...))
	}
	for what, x := range map[string]struct {
		packets [][]byte
		want    uint64
	}{
		"twice":                {[][]byte{response(1, 1), response(1, 1)}, 1},
		"two chunks":           {[][]byte{response(1, 1), response(1, 2)}, 2},
		"another association":  {[][]byte{response(1, 1), response(2, 1)}, 2},
		"again after the next": {[][]byte{response(1, 1), response(1, 2), response(1, 1)}, 2},
	} {
		for _, workers := range []int{1, 2} {
			if n := run(t, rawCapture(t, x.packets), analyze.Options{Workers: workers}).Keyed[proto.HTTPStatus]["200"]; n != x.want {
				t.Errorf("%s, %d workers: %d responses, want %d", what, workers, n, x.want)
			}
		}
	}
}
