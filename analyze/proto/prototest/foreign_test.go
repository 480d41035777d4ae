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

// turn is what one end says: the client (0) or the server (1).
type turn struct {
	from int
	text string
}

// talk makes the segments of a connection to a port, with its handshake.
func talk(port uint16, turns []turn) [][]byte {
	var wire [][]byte
	seq := [2]uint32{1000, 5000}
	segment := func(from int, flags byte, text string) {
		f := make([]byte, 54, 54+len(text))
		f[12], f[14], f[22], f[23], f[46], f[47], f[48] = 8, 0x45, 64, 6, 0x50, flags, 0xff
		binary.BigEndian.PutUint16(f[16:], uint16(40+len(text)))
		copy(f[26+4*from:], []byte{192, 0, 2, 1})
		copy(f[30-4*from:], []byte{198, 51, 100, 1})
		binary.BigEndian.PutUint16(f[34+2*from:], 50000)
		binary.BigEndian.PutUint16(f[36-2*from:], port)
		binary.BigEndian.PutUint32(f[38:], seq[from])
		binary.BigEndian.PutUint32(f[42:], seq[1-from])
		seq[from] += uint32(len(text)) + uint32(flags>>1&1)
		wire = append(wire, append(f, text...))
	}
	segment(0, 0x02, "")
	segment(1, 0x12, "")
	segment(0, 0x10, "")
	for _, t := range turns {
		segment(t.from, 0x18, t.text)
		segment(1-t.from, 0x10, "")
	}
	return wire
}

// TestForeignPorts checks that counters.protocols follows tshark, which knows most protocols
// by their port, while the report knows them by what is said. Wanted is what
// tshark 4.0.17 prints of the same segments.
func TestForeignPorts(t *testing.T) {
	t.Parallel()
	ssh := []turn{{1, "SSH-2.0-OpenSSH_9.2\r\n"}, {0, "SSH-2.0-OpenSSH_9.0\r\n"}}
	mail := []turn{{1, "220 mail ESMTP\r\n"}, {0, "EHLO a\r\n"}, {1, "250 HELP\r\n"}}
	web := []turn{{0, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"}, {1, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"}}
	h2 := []turn{{0, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"}, {1, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"}}
	upgrade := []turn{
		{0, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n"},
		{1, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"},
	}
	connect := func(port int) []turn {
		return []turn{{0, fmt.Sprintf("CONNECT h:%d HTTP/1.1\r\nHost: h\r\n\r\n", port)}, {1, "HTTP/1.1 200 OK\r\n\r\n"}}
	}
	socks := func(port string) []turn {
		return []turn{
			{0, "\x05\x01\x00"},
			{1, "\x05\x00"},
			{0, "\x05\x01\x00\x01\x0a\x00\x00\x09" + port},
			{1, "\x05\x00\x00\x01\x0a\x00\x00\x09\x04\x38"},
		}
	}
	tests := []struct {
		name  string
		port  uint16
		turns []turn
		app   string
		want  string
	}{
		{"ssh at home", 22, ssh, "ssh", "ssh:2"},
		{"ssh elsewhere", 2222, ssh, "ssh", "data:2"},
		{"http elsewhere", 9998, web, "http", "http:2"},
		{"mail elsewhere", 2525, mail, "smtp", "data:3"},
		{"HTTP/2 at home", 8080, h2, "http2", "http:2 http2:2"},
		{"HTTP/2 elsewhere", 9998, h2, "http2", "data:2"},
		{"an upgrade to HTTP/2", 9998, append(upgrade, h2...), "http2", "http:4 http2:2"},
		{"ssh through a proxy", 8888, append(connect(22), ssh...), "ssh", "http:4 ssh:2"},
		{"mail through SOCKS", 1080, append(socks("\x00\x19"), mail...), "smtp", "smtp:3 socks:7"},
		{"ssh through SOCKS to a foreign port", 1080, append(socks("\x08\xae"), ssh...), "ssh", "data:2 socks:6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := &frames{pool: packet.NewPool(2, 1<<16), left: talk(tt.port, tt.turns)}
			r, err := analyze.Run(t.Context(), src, analyze.Options{Workers: 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(r.Protocols, func(name string, n uint64) bool {
				return n == 0 || slices.Contains([]string{"eth", "ip", "tcp"}, name)
			})
			var got []string
			for _, name := range slices.Sorted(maps.Keys(r.Protocols)) {
				got = append(got, fmt.Sprint(name, ":", r.Protocols[name]))
			}
			if text := strings.Join(got, " "); text != tt.want || apps(r.Connections) != tt.app {
				t.Errorf("app %s counts %s, want %s counts %s", apps(r.Connections), text, tt.app, tt.want)
			}
		})
	}
}
