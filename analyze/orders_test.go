package analyze_test

import (
	"bytes"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/proto"
)

// talk is a conversation with a web server as a capture that is being written.
type talk struct {
	out bytes.Buffer
	ms  uint32
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// send writes a segment of the client (up) or the server that is captured up to snap
// bytes of its payload.
func (k *talk) send(up bool, seq, ack int, flags byte, payload string, snap int) {
	b := binary.BigEndian.AppendUint16(nil, 80)
	b = binary.BigEndian.AppendUint16(b, 4000)
	src, dst := byte(server), byte(client)
	if up {
		b = []byte{b[2], b[3], b[0], b[1]}
		src, dst = dst, src
	}
	b = binary.BigEndian.AppendUint32(b, uint32(seq))
	b = binary.BigEndian.AppendUint32(b, uint32(ack))
	b = append(b, 0x50, flags, 0x20, 0, 0, 0, 0, 0)
	p := ipv4(src, dst, 6, append(b, payload...))
	k.ms++
	have := len(p) - max(len(payload)-snap, 0)
	for _, v := range []uint32{1_700_000_000 + k.ms/1000, k.ms % 1000 * 1000, uint32(have), uint32(len(p))} {
		k.out.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
	k.out.Write(p[:have])
}

// statuses are those that a run counts when the response comes cut and in the given
// order, and another one (404) follows. "a2" is an acknowledgement of what lies before
// part 2, and a part with ~ comes 100 ms later than the one before.
func statuses(t *testing.T, response string, cuts []int, order string, snap int) map[string]uint64 {
	t.Helper()
	const syn, ack, fin, all = 2, 0x10, 1, 1 << 16
	var k talk
	for _, v := range []uint32{0xa1b2c3d4, 4<<16 | 2, 0, 0, 65535, 101} {
		k.out.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
	asked, end := 1+len(request), 1+len(response)
	k.send(true, 0, 0, syn, "", all)
	k.ms += 20
	k.send(false, 0, 1, syn|ack, "", all)
	k.send(true, 1, 1, ack, "", all)
	k.send(true, 1, 1, ack, request, all)
	k.ms += 20
	k.send(false, 1, asked, ack, "", all)
	at := append(append([]int{0}, cuts...), len(response))
	for step := range strings.FieldsSeq(order) {
		if rest, late := strings.CutPrefix(step, "~"); late {
			k.ms += 100
			step = rest
		}
		rest, acks := strings.CutPrefix(step, "a")
		n, err := strconv.Atoi(rest)
		switch {
		case err != nil:
			t.Fatal(err)
		case acks:
			k.send(true, asked, 1+at[n], ack, "", all)
		default:
			k.send(false, 1+at[n], asked, ack, response[at[n]:at[n+1]], snap)
		}
	}
	if !strings.Contains(response, "Length") && !strings.Contains(response, "chunked") {
		k.send(false, end, asked, ack|fin, "", all)
	} else {
		k.send(true, asked, end, ack, request, all)
		k.ms += 20
		k.send(false, end, asked+len(request), ack, "HTTP/1.1 404 Not\r\nContent-Length: 3\r\n\r\nxyz", all)
	}
	name := filepath.Join(t.TempDir(), "made.pcap")
	if err := os.WriteFile(name, k.out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, name, analyze.Options{Workers: 1}).Keyed[proto.HTTPStatus]
}

// TestStatusOfSegments counts responses whose segments come late, again or not at all.
// The figures are what tshark 4.0.17 gives.
func TestStatusOfSegments(t *testing.T) {
	t.Parallel()
	const all = 1 << 16
	sized := "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000)
	chunk := "3e8\r\n" + strings.Repeat("y", 1000) + "\r\n"
	chunks := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk + "0\r\n\r\n"
	until := "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n" + strings.Repeat("z", 3000)
	for i, c := range []struct {
		response string
		cuts     []int
		order    string
		snap     int
		want     string // of the response, and of the next one
	}{
		{sized, []int{100, 400, 800}, "0 1 2 3", all, "200 404"},
		{sized, []int{100, 400, 800}, "0 2 1 3", all, "200 404"}, // out of order
		{sized, []int{100, 400, 800}, "0 2 ~1 3", all, "404"},    // sent again
		{sized, []int{100, 400, 800}, "0 a2 1 2 3", all, "404"},  // acknowledged before it is seen
		{sized, []int{100, 400, 800}, "0 1 3 2", all, "404"},     // completed late
		{sized, []int{10, 30, 500}, "0 2 1 3", all, ""},          // inside the head: the next answer is taken for body
		{sized, []int{10, 30, 500}, "1 0 2 3", all, ""},
		{sized, []int{10, 30, 500}, "0 1 2 a4 3", all, "404"},
		{sized, []int{8, 17, 25}, "0 2 ~1 3", all, "404"},
		{chunks, []int{500, 1300, 2500}, "0 1 2 3", all, "200 404"},
		{chunks, []int{500, 1300, 2500}, "0 2 1 3", all, "404"}, // waits for the next segment only
		{sized, []int{100}, "0 1", 30, "200 404"},               // cut: nothing is waited for
		{sized, []int{17}, "0 1", 30, "404"},                    // and nothing joined
		{until, []int{500, 1000, 2000}, "0 2 1 3", all, "200"},
		{until, []int{500, 1000, 2000}, "0 2 ~1 3", all, ""},
	} {
		want := map[string]uint64{}
		for code := range strings.FieldsSeq(c.want) {
			want[code] = 1
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			if got := statuses(t, c.response, c.cuts, c.order, c.snap); !maps.Equal(got, want) {
				t.Errorf("cut at %v, order %q: got %v, want %v", c.cuts, c.order, got, want)
			}
		})
	}
}

// A capture that begins inside a request, of which nobody can tell what it is, has the
// answer all the same.
func TestBeginsInsideRequest(t *testing.T) {
	t.Parallel()
	const ack, all = 0x10, 1 << 16
	var k talk
	for _, v := range []uint32{0xa1b2c3d4, 4<<16 | 2, 0, 0, 65535, 101} {
		k.out.Write(binary.LittleEndian.AppendUint32(nil, v))
	}
	k.send(true, 1, 1, ack, strings.Repeat("\x00\xfe words", 100), all)
	k.send(false, 1, 801, ack, "HTTP/1.1 404 Not\r\nContent-Length: 3\r\n\r\nxyz", all)
	name := filepath.Join(t.TempDir(), "made.pcap")
	if err := os.WriteFile(name, k.out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, name, analyze.Options{Workers: 1}).Keyed[proto.HTTPStatus]; got["404"] != 1 {
		t.Errorf("got %v", got)
	}
}
