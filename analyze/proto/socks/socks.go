// Package socks reads SOCKS 4 and 5 (RFC 1928, RFC 1929): refusals of the proxy;
// what is spoken through it is recognised by itself.
package socks

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	Refused    finding.Code = "socks.refused"
	AuthFailed finding.Code = "socks.auth-failed"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "socks", Doc: "SOCKS 4 and 5, RFC 1928",
		Carrier: proto.TCP, Ports: []uint16{1080},
		Untold: [2]bool{flow.ToClient: true},
		First:  func(dir flow.Dir, c byte) bool { return dir == flow.ToClient || c == 4 || c == 5 },
		Probe: func(dir flow.Dir, b []byte) proto.Verdict {
			if dir == flow.ToClient {
				return proto.NeedMore
			}
			switch {
			case len(b) > 0 && b[0] == 4:
				return probe4(b)
			case len(b) == 0 || b[0] != 5:
				return proto.No
			case len(b) < 3:
				return proto.NeedMore
			case b[1] == 0 || b[1] > 9 || len(b) != 2+int(b[1]):
				return proto.No
			}
			for _, m := range b[2:] {
				if m > 9 {
					return proto.No
				}
			}
			return proto.Likely
		},
		New: newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Refused, Severity: finding.Notice,
				Doc: "The proxy could not or would not connect (RFC 1928, 6).",
				Metrics: []finding.Metric{
					{Name: "reason", Text: true, Doc: "meaning of the reply"},
					{Name: "target", Text: true, Doc: "where the client wanted to go"},
					{Name: "code", Doc: "reply"},
				},
			},
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc: "The proxy did not accept the client's credentials or methods (RFC 1929; RFC 1928, 3).",
			},
		},
	}
}

type phase uint8

const (
	methods phase = iota
	password
	request
	version4
	answered4
)

type analyzer struct {
	phase  phase
	target string
	book   ask.Book
	user   string
}

func newAnalyzer() proto.Analyzer { return &analyzer{book: ask.Book{Protocol: "socks"}} }

// Data takes one message.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if dir == flow.ToServer {
		return a.client(s, b), nil
	}
	return a.server(s, b)
}

func (a *analyzer) client(s *proto.Scope, b []byte) int {
	switch a.phase {
	case methods:
		if b[0] == 4 {
			return a.client4(s, b)
		}
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return 0
		}
		return 2 + int(b[1])
	case password:
		if len(b) < 2 || len(b) < 3+int(b[1]) {
			return 0
		}
		n := 2 + int(b[1])
		if len(b) < n+1+int(b[n]) {
			return 0
		}
		a.user = ask.Clip(b[2:n])
		return n + 1 + int(b[n])
	case version4, answered4:
		return len(b)
	case request:
	}
	target, n := address(b)
	if n > 0 {
		a.target = target
		s.Attr("socks.target", target)
		a.book.Queue(s, 0, "CONNECT "+target, n)
	}
	return n
}

func (a *analyzer) server(s *proto.Scope, b []byte) (int, error) {
	if len(b) < 2 {
		return 0, nil
	}
	const none, userPassword = 0xff, 2
	switch a.phase {
	case answered4:
		return len(b), nil
	case version4:
		return a.server4(s, b), nil
	case methods:
		a.phase = request
		switch b[1] {
		case none:
			s.Report(AuthFailed)
		case userPassword:
			a.phase = password
		case 0:
		default:
			return 2, frames.ErrGap // GSS-API hides the rest
		}
		return 2, nil
	case password:
		a.phase = request
		s.Publish(&proto.Login{Protocol: "socks", Client: s.Client().Addr(), Server: s.Server(), User: a.user, OK: b[1] == 0})
		if b[1] != 0 {
			s.Report(AuthFailed)
		}
		return 2, nil
	case request:
	}
	_, n := address(b)
	if n == 0 {
		return 0, nil
	}
	a.book.Answer(s, 0, reason(b[1]), b[1] != 0, n)
	if b[1] == 0 {
		s.BecomeTunnel(a.target)
	} else {
		s.Report(Refused, finding.Text(reason(b[1])), finding.Text(a.target), finding.Num(b[1]))
	}
	return n, nil
}

// head4 is the length of a request of version 4 without its texts: version, command,
// port, address (Koblas; for 4A with the name of the host behind the user's).
const head4 = 8

// texts4 are the user's name and, where the address is none, the host's.
func texts4(b []byte) (host string, n int) {
	user := bytes.IndexByte(b[head4:], 0)
	if user < 0 {
		return "", 0
	}
	n = head4 + user + 1
	if b[4] != 0 || b[5] != 0 || b[6] != 0 || b[7] == 0 {
		return netip.AddrFrom4([4]byte(b[4:8])).String(), n
	}
	name := bytes.IndexByte(b[n:], 0)
	if name < 0 {
		return "", 0
	}
	return ask.Clip(b[n : n+name]), n + name + 1
}

// probe4 wants a request that is there to its last byte.
func probe4(b []byte) proto.Verdict {
	const connect, bind = 1, 2
	if len(b) > 1 && b[1] != connect && b[1] != bind {
		return proto.No
	}
	if len(b) <= head4 {
		return proto.NeedMore
	}
	if _, n := texts4(b); n == len(b) {
		return proto.Likely
	}
	return proto.No
}

func (a *analyzer) client4(s *proto.Scope, b []byte) int {
	if len(b) <= head4 {
		return 0
	}
	host, n := texts4(b)
	if n > 0 {
		a.phase = version4
		a.target = host + ":" + strconv.Itoa(int(binary.BigEndian.Uint16(b[2:])))
		s.Attr("socks.target", a.target)
		a.book.Queue(s, 0, "CONNECT "+a.target, n)
	}
	return n
}

func (a *analyzer) server4(s *proto.Scope, b []byte) int {
	const granted, rejected, noIdent, wrongIdent = 0x5a, 0x5b, 0x5c, 0x5d
	if len(b) < head4 {
		return 0
	}
	var reason string
	switch b[1] {
	case granted:
		reason = "ok"
	case rejected:
		reason = "rejected or failed"
	case noIdent:
		reason = "cannot ask the client's identd"
	case wrongIdent:
		reason = "identd names another user"
	default:
		reason = strconv.Itoa(int(b[1]))
	}
	a.book.Answer(s, 0, reason, b[1] != granted, head4)
	a.phase = answered4
	if b[1] == granted {
		s.BecomeTunnel(a.target)
	} else {
		s.Report(Refused, finding.Text(reason), finding.Text(a.target), finding.Num(b[1]))
	}
	return head4
}

// address reads version, command, reserved, and an address (RFC 1928, 4 to 6).
func address(b []byte) (text string, n int) {
	if len(b) < 5 {
		return "", 0
	}
	const ip4, name, ip6 = 1, 3, 4
	host := ""
	switch b[3] {
	case ip4:
		n = 8
	case ip6:
		n = 20
	case name:
		n = 5 + int(b[4])
	default:
		return "", len(b)
	}
	if len(b) < n+2 {
		return "", 0
	}
	switch b[3] {
	case name:
		host = ask.Clip(b[5:n])
	default:
		if a, ok := netip.AddrFromSlice(b[4:n]); ok {
			host = a.String()
		}
	}
	return host + ":" + strconv.Itoa(int(binary.BigEndian.Uint16(b[n:]))), n + 2
}

func reason(code byte) string {
	names := [...]string{
		"ok", "general failure", "not allowed by ruleset", "network unreachable", "host unreachable", "connection refused",
		"TTL expired", "command not supported", "address type not supported",
	}
	if int(code) < len(names) {
		return names[code]
	}
	return strconv.Itoa(int(code))
}

// Gap ends the analysis.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return frames.ErrGap }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
