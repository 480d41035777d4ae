// Package telnet recognises Telnet (RFC 854) by its negotiation. Its one finding
// is that names and passwords pass in clear text.
package telnet

import (
	"bytes"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
)

// Codes of findings.
const (
	ClearText   finding.Code = "telnet.clear-text"
	LoginFailed finding.Code = "telnet.login-failed"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	return proto.Spec{
		Name: "telnet", Doc: "Telnet, RFC 854",
		Carrier: proto.TCP, Ports: []uint16{23},
		First: func(_ flow.Dir, c byte) bool { return c == 0xff },
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			const iac, will, dont = 0xff, 0xfb, 0xfe
			for i := range 2 { // one negotiation, or two where there are more
				if len(b) < 3 {
					if i > 0 && len(b) == 0 {
						return proto.Likely
					}
					return proto.NeedMore
				}
				if b[0] != iac || b[1] < will || b[1] > dont || b[2] > 49 {
					return proto.No
				}
				b = b[3:]
			}
			return proto.Certain
		},
		New: func() proto.Analyzer { return &analyzer{} },
		Codes: []finding.Def{
			{
				Code: ClearText, Severity: finding.Info,
				Doc: "A session is in clear text: whoever sees the packets reads names and passwords.",
			},
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server said that a login failed.",
				Metrics: []finding.Metric{{Name: "attempts", Merge: finding.Sum, Doc: "failed logins"}},
			},
		},
	}
}

// Plain declares the same without negotiation: a session that greets with a prompt.
func Plain() proto.Spec {
	return proto.Spec{
		Name: "telnet", Doc: "Telnet without negotiation, told by its prompt",
		Carrier: proto.TCP, Ports: []uint16{23}, Weak: true,
		Probe: func(dir flow.Dir, b []byte) proto.Verdict {
			const most = 512
			if dir == flow.ToServer {
				return proto.NeedMore
			}
			for _, prompt := range [...]string{"login:", "Login:", "sername:", "assword:"} {
				if bytes.Contains(b, []byte(prompt)) {
					return proto.Likely
				}
			}
			if len(b) >= most {
				return proto.No
			}
			return proto.NeedMore
		},
		New: func() proto.Analyzer { return &analyzer{} },
	}
}

type analyzer struct{ told bool }

// Data takes what is there; nothing has to be kept.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if !a.told {
		a.told = true
		s.Report(ClearText)
	}
	if dir == flow.ToClient && (bytes.Contains(b, []byte("Login incorrect")) || bytes.Contains(b, []byte("% Login invalid")) ||
		bytes.Contains(b, []byte("% Bad passwords")) || bytes.Contains(b, []byte("% Authentication failed"))) {
		s.Report(LoginFailed, finding.Num(1))
		s.Publish(&proto.Login{Protocol: "telnet", Client: s.Client().Addr(), Server: s.Server()})
	}
	return len(b), nil
}

// Gap passes over what is missing.
func (*analyzer) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
