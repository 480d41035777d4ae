package analyze_test

import (
	"maps"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/proto"
)

// tcpFrom is a segment between two ports.
func tcpFrom(src, dst byte, payload string) []byte {
	return append([]byte{0, src, 0x9c, dst, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 4, 0, 0, 0, 0, 0}, payload...)
}

// TestQuotedCodes counts what ICMP errors quote. The figures are what tshark 4.0.17 gives.
func TestQuotedCodes(t *testing.T) {
	t.Parallel()
	answer := "\x12\x34\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00\x03foo\x03com\x00\x00\x01\x00\x01"
	page := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"
	alert := "\x15\x03\x03\x00\x02\x02\x28"
	fragment := ipv4(client, server, 17, udp(53, 4000, []byte(answer)))
	fragment[6] = 0x20 // more of it
	redirect := unreachable(ipv4(client, server, 17, udp(53, 4000, []byte(answer))))
	redirect[20], redirect[21] = 5, 1
	for name, x := range map[string]struct {
		packet  []byte
		counter proto.Counter
		want    map[string]uint64
	}{
		"an answer":                   {unreachable(ipv4(client, server, 17, udp(53, 4000, []byte(answer)))), proto.DNSRcode, map[string]uint64{"3": 1}},
		"its flags":                   {unreachable(ipv4(client, server, 17, udp(53, 4000, []byte(answer[:4])))), proto.DNSRcode, map[string]uint64{"3": 1}},
		"at a foreign port":           {unreachable(ipv4(client, server, 17, udp(40000, 4000, []byte(answer)))), proto.DNSRcode, map[string]uint64{"3": 1}},
		"at the port of NetBIOS":      {unreachable(ipv4(client, server, 17, udp(137, 4000, []byte(answer)))), proto.DNSRcode, nil},
		"in a fragment":               {unreachable(fragment), proto.DNSRcode, nil},
		"in a redirect":               {redirect, proto.DNSRcode, nil},
		"over TCP":                    {unreachable(ipv4(client, server, 6, tcpFrom(53, 0x40, "\x00\x19"+answer))), proto.DNSRcode, map[string]uint64{"3": 1}},
		"two responses":               {unreachable(ipv4(client, server, 6, tcpFrom(80, 0x40, page+page))), proto.HTTPStatus, map[string]uint64{"200": 2}},
		"the beginning of a response": {unreachable(ipv4(client, server, 6, tcpFrom(80, 0x40, page[:20]))), proto.HTTPStatus, map[string]uint64{"200": 1}},
		"less of it":                  {unreachable(ipv4(client, server, 6, tcpFrom(80, 0x40, page[:10]))), proto.HTTPStatus, nil},
		"at the port of SMTP":         {unreachable(ipv4(client, server, 6, tcpFrom(25, 0x40, page))), proto.HTTPStatus, nil},
		"an alert":                    {unreachable(ipv4(client, server, 6, tcpFrom(99, 0x40, alert))), proto.TLSAlert, nil},
		"an alert behind data":        {unreachable(ipv4(client, server, 6, tcpFrom(99, 0x40, "\x17\x03\x03\x00\x01x"+alert))), proto.TLSAlert, map[string]uint64{"40": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, rawCapture(t, [][]byte{x.packet}), analyze.Options{Workers: 1}).Keyed[x.counter]; !maps.Equal(got, x.want) {
				t.Errorf("got %v, want %v", got, x.want)
			}
		})
	}
}
