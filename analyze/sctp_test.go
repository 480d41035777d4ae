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

// TestChunksInPieces reads messages of several chunks where the last of them comes by,
// in any order, and none that lacks one.
func TestChunksInPieces(t *testing.T) {
	t.Parallel()
	const text = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
	chunk := func(kind, flags byte, tsn uint16, number byte, b string) []byte {
		p := []byte{0, 80, 0x9c, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, kind, flags, 0, 0, 0, 0, byte(tsn >> 8), byte(tsn), 0, 0, 0, 0, 0, 0, 0, 0}
		if kind == 64 {
			p = append(p, 0, 0, 0, number)
		}
		p = append(p, b...)
		p[15] = byte(len(p) - 12)
		return ipv4(server, client, 132, p)
	}
	data := func(flags byte, tsn uint16, b string) []byte { return chunk(0, flags, tsn, 0, b) }
	first, second, third := data(2, 254, text[:10]), data(0, 255, text[10:20]), data(1, 256, text[20:])
	for what, x := range map[string]struct {
		packets [][]byte
		want    uint64
	}{
		"in order":         {[][]byte{first, second, third}, 1},
		"last first":       {[][]byte{third, second, first}, 1},
		"middle last":      {[][]byte{first, third, second}, 1},
		"one is missing":   {[][]byte{first, third}, 0},
		"no end":           {[][]byte{first, second}, 0},
		"another message":  {[][]byte{data(2, 1, "HTTP/1.1 200 OK\r\n"), data(2, 2, text[:10]), data(1, 3, text[10:])}, 1},
		"cut":              {[][]byte{data(3, 1, text)[:60]}, 0},
		"I-DATA":           {[][]byte{chunk(64, 2, 1, 0, text[:10]), chunk(64, 0, 9, 1, text[10:20]), chunk(64, 1, 5, 2, text[20:])}, 1},
		"I-DATA, a hole":   {[][]byte{chunk(64, 2, 1, 0, text[:10]), chunk(64, 1, 2, 2, text[10:])}, 0},
		"I-DATA, in whole": {[][]byte{chunk(64, 3, 1, 0, text)}, 1},
	} {
		if n := run(t, rawCapture(t, x.packets), analyze.Options{Workers: 1}).Keyed[proto.HTTPStatus]["200"]; n != x.want {
			t.Errorf("%s: %d responses, want %d", what, n, x.want)
		}
	}
}
