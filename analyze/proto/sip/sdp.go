package sip

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"

	"netwhy/analyze/proto"
)

// describe publishes where a session description wants its media. A request sent
// again says nothing; the final answer after a provisional one repeats it.
func (a *analyzer) describe(s *proto.Scope, key string, first, body []byte) {
	r, repeated := a.open[key], false
	if code, answer := bytes.CutPrefix(first, []byte(answerLine)); !answer {
		if r != nil {
			return
		}
	} else if r != nil {
		repeated = r.described && bytes.HasPrefix(code, []byte{'2'})
		r.described = r.described || bytes.HasPrefix(code, []byte{'1'})
	}
	for _, m := range places(body) {
		m.Repeated = repeated
		s.Publish(&m)
	}
}

// places reads the lines that tell where media are wanted: addresses (RFC 8866,
// 5.7), media (5.14) and ports of RTCP (RFC 3605, 2.1).
func places(body []byte) []proto.Media {
	const most = 256 // lines
	var all []proto.Media
	var session netip.Addr
	for range most {
		line, rest, _ := bytes.Cut(body, []byte{'\n'})
		if body = rest; len(line) < 2 || line[1] != '=' {
			if len(body) == 0 {
				break
			}
			continue
		}
		value := string(bytes.TrimSpace(line[2:]))
		switch line[0] {
		case 'c':
			if addr := address(value); len(all) == 0 {
				session = addr
			} else {
				all[len(all)-1].Addr = addr
			}
		case 'm':
			all = append(all, medium(value, session))
		case 'a':
			if port, ok := strings.CutPrefix(value, "rtcp:"); ok && len(all) > 0 && all[len(all)-1].Control != 0 {
				port, _, _ = strings.Cut(port, " ")
				if n, err := strconv.ParseUint(port, 10, 16); err == nil {
					all[len(all)-1].Control = uint16(n)
				}
			}
		}
	}
	kept := all[:0]
	for _, m := range all {
		if m.Port != 0 && m.Addr.IsValid() && !m.Addr.IsUnspecified() {
			kept = append(kept, m)
		}
	}
	return kept
}

// medium reads "audio 49170 RTP/AVP 0". Port 0: not wanted, or not over UDP.
func medium(value string, addr netip.Addr) proto.Media {
	const fields = 4
	f := strings.SplitN(value, " ", fields)
	if len(f) < fields-1 {
		return proto.Media{}
	}
	digits, _, _ := strings.Cut(f[1], "/")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return proto.Media{}
	}
	m := proto.Media{Addr: addr, Port: uint16(n)}
	switch {
	case strings.HasPrefix(f[2], "TCP"):
		return proto.Media{}
	case strings.Contains(f[2], "RTP/"):
		m.Control = m.Port + 1 // RFC 3550, 11
	case !strings.EqualFold(f[2], "udptl"):
		return proto.Media{}
	}
	return m
}

// address reads "IN IP4 198.51.100.1/127".
func address(value string) netip.Addr {
	f := strings.Fields(value)
	if len(f) < 3 {
		return netip.Addr{}
	}
	digits, _, _ := strings.Cut(f[2], "/")
	addr, err := netip.ParseAddr(digits)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}
