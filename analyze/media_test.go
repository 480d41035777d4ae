package analyze_test

import (
	"fmt"
	"testing"

	"netwhy/analyze"
)

// sip makes a message with a session description; port 0: without one.
func sip(src, dst byte, first, seq, more string, port int) []byte {
	body := ""
	if port != 0 {
		body = fmt.Sprintf("v=0\r\no=- 1 1 IN IP4 10.0.0.%d\r\ns=-\r\nc=IN IP4 10.0.0.%d\r\nt=0 0\r\nm=audio %d RTP/AVP 0\r\n%s", src, src, port, more)
	}
	head := "\r\nVia: SIP/2.0/UDP 10.0.0.1:5060;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>;tag=2\r\nCall-ID: c\r\nCSeq: "
	return ipv4(src, dst, 17, udp(5060, 5060, fmt.Appendf(nil,
		"%s%s%s\r\nContent-Type: application/sdp\r\nContent-Length: %d\r\n\r\n%s", first, head, seq, len(body), body)))
}

// rtp is a datagram of media: 12 bytes of header (RFC 3550, 5.1).
func rtp(src byte, sport uint16, dst byte, dport uint16) []byte {
	return ipv4(src, dst, 17, udp(sport, dport, append([]byte{0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, make([]byte, 160)...)))
}

// TestMedia counts the conversations of calls. The figures are what tshark 4.0.17
// gives.
func TestMedia(t *testing.T) {
	t.Parallel()
	const there, here = 10000, 20000
	invite := func(n int, more string) []byte {
		return sip(client, server, "INVITE sip:b@x SIP/2.0", fmt.Sprint(n, " INVITE"), more, there)
	}
	answer := func(first string, n, port int) []byte {
		return sip(server, client, "SIP/2.0 "+first, fmt.Sprint(n, " INVITE"), "", port)
	}
	out, back := rtp(client, there, server, here), rtp(server, here, client, there)
	for name, x := range map[string]struct {
		packets [][]byte
		udp     uint64
	}{
		"no call":          {[][]byte{out, back}, 1},
		"a call":           {[][]byte{invite(1, ""), answer("200 OK", 1, here), out, back, out, back}, 3},
		"one way":          {[][]byte{invite(1, ""), answer("200 OK", 1, here), out}, 2},
		"media before":     {[][]byte{out, back, invite(1, ""), answer("200 OK", 1, here), out, back}, 2},
		"early media":      {[][]byte{invite(1, ""), back, answer("200 OK", 1, here), out, back}, 3},
		"rung, then taken": {[][]byte{invite(1, ""), answer("183 Progress", 1, here), back, out, answer("200 OK", 1, here), back}, 3},
		"asked again":      {[][]byte{invite(1, ""), invite(1, ""), answer("200 OK", 1, here), out, back}, 3},
		"to be logged in":  {[][]byte{invite(1, ""), answer("407 Proxy", 1, 0), invite(2, ""), answer("200 OK", 2, here), out, back}, 3},
		"renewed":          {[][]byte{invite(1, ""), answer("200 OK", 1, here), out, back, invite(2, ""), answer("200 OK", 2, here), out, back}, 5},
		"several to one":   {[][]byte{invite(1, ""), rtp(gateA, 5000, client, there), rtp(gateB, 6000, client, there)}, 2},
		"one to several":   {[][]byte{invite(1, ""), rtp(client, there, gateA, 5000), rtp(client, there, gateB, 6000)}, 2},
		"other ports":      {[][]byte{invite(1, ""), answer("200 OK", 1, here), rtp(client, 9998, server, here), rtp(server, 9998, client, there)}, 3},
		"control":          {[][]byte{invite(1, ""), answer("200 OK", 1, here), rtp(client, there+1, server, here+1), rtp(server, here+1, client, there+1)}, 3},
		"its own port":     {[][]byte{invite(1, "a=rtcp:15000\r\n"), rtp(server, here+1, client, 15000), rtp(gateA, 5, client, 15000)}, 2},
		"another place": {[][]byte{
			invite(1, "c=IN IP4 10.0.0.3\r\nm=image 11000 udptl t38\r\nm=audio 0 RTP/AVP 0\r\n"),
			rtp(server, 1, gateA, there), rtp(gateB, 1, gateA, there), rtp(server, 1, client, 11000), rtp(gateB, 1, client, 11000),
		}, 3},
		"on hold": {[][]byte{invite(1, "c=IN IP4 0.0.0.0\r\n"), rtp(server, 1, client, there), rtp(gateB, 1, client, there)}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := rawCapture(t, x.packets)
			for _, workers := range []int{1, 2, 8} {
				if got := run(t, path, analyze.Options{Workers: workers}).UDPConversations; got != x.udp {
					t.Errorf("%d workers: %d conversations, want %d", workers, got, x.udp)
				}
			}
		})
	}
}
