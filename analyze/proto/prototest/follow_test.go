package prototest_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/capture/packet"
)

// placed is a segment of the server, by its place in the stream.
type placed struct {
	at   int
	text string
}

// outOfOrder makes a connection in which the client says ask, and the server what is
// placed; nothing is acknowledged meanwhile.
func outOfOrder(port uint16, ask string, say []placed) [][]byte {
	wire := talk(port, []turn{{0, ask}})
	for _, p := range say {
		f := talk(port, []turn{{1, p.text}})[3]
		binary.BigEndian.PutUint32(f[38:], uint32(5001+p.at))
		binary.BigEndian.PutUint32(f[42:], uint32(1001+len(ask)))
		wire = append(wire, f)
	}
	return wire
}

// inTurn places texts one behind the other.
func inTurn(texts ...string) []placed {
	var list []placed
	at := 0
	for _, text := range texts {
		list = append(list, placed{at, text})
		at += len(text)
	}
	return list
}

// ordered takes segments in another order.
func ordered(list []placed, order ...int) []placed {
	var out []placed
	for _, i := range order {
		out = append(out, list[i])
	}
	return out
}

// counts runs the analysis of frames and lists what it counts above TCP.
func counts(t *testing.T, wire [][]byte) string {
	t.Helper()
	return countsOf(t, wire, 0)
}

// countsOf does so where the capture cuts frames.
func countsOf(t *testing.T, wire [][]byte, snap int) string {
	t.Helper()
	src := &frames{pool: packet.NewPool(2, 1<<16), left: wire, snap: snap}
	r, err := analyze.Run(t.Context(), src, analyze.Options{Workers: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.Protocols)) {
		if n := r.Protocols[name]; n > 0 && !slices.Contains([]string{"eth", "ip", "tcp"}, name) {
			list = append(list, fmt.Sprint(name, ":", n))
		}
	}
	return strings.Join(list, " ")
}

// TestFollowsHTTP counts what is no message, or no longer one, as tshark 4.0.17 counts
// the same segments.
func TestFollowsHTTP(t *testing.T) {
	t.Parallel()
	const ask, junk = "GET / HTTP/1.1\r\n\r\n", "\x00\xfejunk\r\n" // http, and http with data
	for _, x := range []struct {
		what string
		say  []placed
		want string
	}{
		{"words", inTurn(junk, "abc\r\n"), "data:2 http:3"},
		{"a field", inTurn(junk, "a:b\r\n"), "data:1 http:3"},
		{"a field, and the start of a line", inTurn(junk, "a:b\r\nrest"), "data:1 http:3"},
		{"a field and words", inTurn(junk, "a:b\r\nrest\r\n"), "data:2 http:3"},
		{"bytes with a colon", inTurn(junk, "\xe9a:b\r\n"), "data:2 http:3"},
		{"a field and bytes with a colon", inTurn(junk, "a:b\r\n\xe9a:b\r\n"), "data:1 http:3"},
		{"an empty line first", inTurn(junk, "\r\na:b\r\n"), "data:1 http:3"},
		{"an empty line, and the start of a line", inTurn(junk, "\r\nabc"), "data:1 http:2"},
		{"a header and a body", inTurn(junk, "a:b\r\n\r\nbody"), "data:2 http:3"},
		{"a header and a body of a type", inTurn(junk, "Content-Type: text/html\r\n\r\nbody"), "data:1 data-text-lines:1 http:3"},
		{"a line in pieces", inTurn(junk, "ab", "c:d", "e\r\n"), "data:1 http:3"},
		{"words in pieces", inTurn(junk, "ab", "cd", "e\r\n"), "data:2 http:3"},
		{"pieces of a header and a body", inTurn(junk, "a:b", "\r\n\r\nbody"), "data:2 http:3"},
	} {
		if got := counts(t, outOfOrder(80, ask, x.say)); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
}

// TestFollowsMidway does so where the capture begins in the middle of a response: without
// a request tshark takes for HTTP what begins with a field.
func TestFollowsMidway(t *testing.T) {
	t.Parallel()
	text, field, bytes := strings.Repeat("a", 600), "a:b"+strings.Repeat("a", 600), "\xe9"+strings.Repeat("a", 600)
	for _, x := range []struct {
		what string
		say  []placed
		want string
	}{
		{"bytes", inTurn(bytes, bytes, bytes+"\r\n"), ""},
		{"lines", inTurn(text, text, text+"\r\n", text), ""},
		{"a field", inTurn(bytes, field+"\r\n", bytes), "http:1"},
		{"a field in pieces, then bytes and a line", inTurn(text, field, text+"\r\n", bytes, text+"\r\n"), "http:1"},
		{"a field and words", inTurn(field+"\r\nwords\r\n", bytes), "data:1 http:1"},
		{"a header and a body", inTurn(field + "\r\nContent-Type: text/html\r\n\r\nabc"), "data-text-lines:1 http:1"},
		{"what waits for the end of its line, and a response", inTurn(text, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), ""},
	} {
		if got := counts(t, outOfOrder(80, "", x.say)); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
}

// TestFollowsCut does so where the snaplen cuts segments: tshark waits for nothing then.
func TestFollowsCut(t *testing.T) {
	t.Parallel()
	const ask, snap = "GET / HTTP/1.1\r\n\r\n", 54 + 100
	long := strings.Repeat("L", 200)
	head := "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n"
	for _, x := range []struct {
		what, ask string
		say       []placed
		want      string
	}{
		{"a head", ask, inTurn(head + "X: " + long), "http:2"},
		{"a head and a body", ask, inTurn(head + "\r\n" + long), "data:1 http:2"},
		{"a head and a text", ask, inTurn(head + "Content-Type: text/html\r\n\r\n" + long), "data-text-lines:1 http:2"},
		{"words", ask, inTurn(head+"\r\n"+long, long), "data:2 http:3"},
		{"a field", ask, inTurn(head+"\r\n"+long, "a:b"+long), "data:1 http:3"},
		{"a field and words", ask, inTurn(head+"\r\n"+long, "a:b\n"+long), "data:1 http:3"},
		{"whole words", ask, inTurn(head+"\r\n"+long, "abc"), "data:1 http:2"},
		{"a whole line", ask, inTurn(head+"\r\n"+long, "abc\n"), "data:2 http:3"},
		{"a whole line behind a hole", ask, ordered(inTurn(head+"\r\n"+long, long, long, "abc\n"), 0, 2, 3, 1), "data:3 http:4"},
		{"words without a request", "", inTurn(long), "data:1 http:1"},
		{"a field without a request", "", inTurn("a:b" + long), "http:1"},
		{"bytes without a request", "", inTurn("\xe9" + long), ""},
		{"an empty line without a request", "", inTurn("\r\n\r\n" + long), ""},
	} {
		if got := countsOf(t, outOfOrder(80, x.ask, x.say), snap); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
}

// TestFollowsChunks does so where segments of a response in chunks come late: tshark waits
// for the next segment only, and looks at those behind a hole alone.
func TestFollowsChunks(t *testing.T) {
	t.Parallel()
	const ask = "GET / HTTP/1.1\r\n\r\n"
	long := strings.Repeat("0123456789", 9) + "abcdefghi"
	chunked := inTurn("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n190\r\n", "x: y\n"+long[5:]+"1", "x: z\n"+long[5:]+"2", "x: y\n"+long[5:]+"3", "x: y\n"+long[5:]+"4", "\r\n0\r\n\r\n")
	for _, x := range []struct {
		what  string
		order []int
		want  string
	}{
		{"in order", []int{0, 1, 2, 3, 4, 5}, "data:1 http:2"},
		{"one late", []int{0, 2, 1, 3, 4, 5}, "data:1 http:5"},
		{"one late in the middle", []int{0, 1, 3, 2, 4, 5}, "data:1 http:4"},
		{"the end before", []int{0, 1, 2, 3, 5, 4}, "data:1 http:2"},
		{"one missing", []int{0, 1, 3, 4, 5}, "data:1 http:4"},
	} {
		if got := counts(t, outOfOrder(80, ask, ordered(chunked, x.order...))); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
}

// TestFollowsBitTorrent does so for pieces whose segments come late: tshark joins them,
// but says nothing of what a late one completes.
func TestFollowsBitTorrent(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat("\xee", 100)
	piece := "\x00\x00\x01\x2c\x07" + noise[:95]
	two := inTurn(piece, noise, noise+noise[:4]+piece[:96], noise[:4]+noise, noise+noise[:4])
	for _, x := range []struct {
		what  string
		order []int
		want  string
	}{
		{"in order", []int{0, 1, 2, 3, 4}, "bittorrent:2"},
		{"late in the middle", []int{0, 2, 1, 3, 4}, "bittorrent:1"},
		{"missing", []int{0, 2, 3, 4}, "bittorrent:1"},
	} {
		if got := counts(t, outOfOrder(6881, "", ordered(two, x.order...))); got != x.want {
			t.Errorf("%s: %s, want %s", x.what, got, x.want)
		}
	}
}

// TestFollowsTwoNumberings does so where a box that numbers the bytes of the server anew
// was captured on both sides: tshark follows what is ahead.
func TestFollowsTwoNumberings(t *testing.T) {
	t.Parallel()
	const ask, acked = "GET / HTTP/1.1\r\n\r\n", 464201179
	body := strings.Repeat("\xe9", 100)
	answer := []turn{{0, ask}, {1, "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n"}, {1, body}, {1, body}}
	for _, far := range []uint32{1 << 31, 2410034661} {
		var wire [][]byte
		for _, f := range talk(80, slices.Concat(answer, answer)) {
			if f[26] == 198 { // from the server
				twin := slices.Clone(f)
				binary.BigEndian.PutUint32(twin[38:], binary.BigEndian.Uint32(f[38:])+far)
				binary.BigEndian.PutUint32(twin[42:], binary.BigEndian.Uint32(f[42:])+acked)
				wire = append(wire, twin)
			}
			wire = append(wire, f)
		}
		if got := counts(t, wire); got != "data:2 http:4" {
			t.Errorf("%d ahead: %s, want data:2 http:4", far, got)
		}
	}
}
