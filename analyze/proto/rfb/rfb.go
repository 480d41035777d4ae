// Package rfb reads how a session of the Remote Framebuffer protocol begins (VNC, RFC
// 6143, 7.1): whether the server lets the client in.
package rfb

import (
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "vnc.login-failed"
	Refused     finding.Code = "vnc.refused"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	reason := finding.Metric{Name: "reason", Text: true, Doc: "the server's words; empty: none"}
	return proto.Spec{
		Name: "vnc", Doc: "Remote Framebuffer (VNC), RFC 6143",
		Carrier: proto.TCP, Ports: []uint16{5900, 5901, 5902, 5903}, Anywhere: true,
		First: func(_ flow.Dir, c byte) bool { return c == 'R' },
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			const mark = "RFB 003."
			n := min(len(b), len(mark))
			switch {
			case string(b[:n]) != mark[:n]:
				return proto.No
			case len(b) < versionLen:
				return proto.NeedMore
			case b[versionLen-1] != '\n':
				return proto.No
			}
			return proto.Certain
		},
		New: func() proto.Analyzer { return &analyzer{} },
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server did not accept the client's answer to its challenge (RFC 6143, 7.1.3).",
				Metrics: []finding.Metric{reason, {Name: "attempts", Merge: finding.Sum, Doc: "failed logins"}},
			},
			{
				Code: Refused, Severity: finding.Notice,
				Doc:     "The server offers no way to log in and says why (RFC 6143, 7.1.2): too many failures, not configured.",
				Metrics: []finding.Metric{reason, {Name: "times", Merge: finding.Sum, Doc: "refusals"}},
			},
		},
	}
}

const versionLen = 12

// Security types (RFC 6143, 7.2).
const (
	secNone, secVNC = 1, 2
	challengeLen    = 16
)

type step uint8

const (
	version step = iota
	security
	choice // the client's
	challenge
	response // the client's
	result
	done
)

type analyzer struct {
	step  step
	minor byte // of the version that both speak: 3, 7 or 8
	seen  [2]bool
	kind  byte
}

// Data takes the next message of the handshake.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	if a.step == version || !a.seen[dir] {
		return a.versions(dir, b), nil
	}
	fromClient := a.step == choice || a.step == response
	if a.step == done || fromClient != (dir == flow.ToServer) {
		return len(b), nil // pictures and keys, or a part of the handshake that is not known
	}
	switch a.step {
	case security:
		return a.security(s, b), nil
	case choice:
		a.chosen(b[0])
		return 1, nil
	case challenge, response:
		if len(b) < challengeLen {
			return 0, nil
		}
		a.step++
		return challengeLen, nil
	case result:
		return a.result(s, b), nil
	case version, done:
	}
	return len(b), nil
}

func (a *analyzer) versions(dir flow.Dir, b []byte) int {
	if len(b) < versionLen {
		return 0
	}
	minor := b[versionLen-2] - '0'
	if !a.seen[dir^1] || minor < a.minor {
		a.minor = minor
	}
	a.seen[dir] = true
	if a.seen[dir^1] {
		a.step = security
	}
	return versionLen
}

// security reads what the server offers, or why it offers nothing.
func (a *analyzer) security(s *proto.Scope, b []byte) int {
	const manyTypes = 7
	if a.minor < manyTypes { // one, chosen by the server
		if len(b) < 4 {
			return 0
		}
		if kind := binary.BigEndian.Uint32(b); kind > 0 {
			a.chosen(byte(min(kind, 0xff)))
			return 4
		}
		return a.refused(s, b, 4)
	}
	if b[0] == 0 {
		return a.refused(s, b, 1)
	}
	if len(b) < 1+int(b[0]) {
		return 0
	}
	a.step = choice
	return 1 + int(b[0])
}

func (a *analyzer) chosen(kind byte) {
	const resultAlways = 8
	a.kind = kind
	switch {
	case kind == secVNC:
		a.step = challenge
	case kind == secNone && a.minor >= resultAlways:
		a.step = result
	default:
		a.step = done // other kinds hide what comes
	}
}

func (a *analyzer) refused(s *proto.Scope, b []byte, at int) int {
	reason, n := words(b[at:])
	if n == 0 {
		return 0
	}
	a.step = done
	s.Report(Refused, finding.Text(reason), finding.Num(1))
	return at + n
}

func (a *analyzer) result(s *proto.Scope, b []byte) int {
	if len(b) < 4 {
		return 0
	}
	failed := binary.BigEndian.Uint32(b) != 0
	n, reason := 4, ""
	if failed {
		if r, more := words(b[4:]); more > 0 {
			reason, n = r, n+more
		}
	}
	a.step = done
	if a.kind == secVNC {
		s.Publish(&proto.Login{Protocol: "vnc", Client: s.Client().Addr(), Server: s.Server(), OK: !failed})
	}
	if failed {
		s.Report(LoginFailed, finding.Text(reason), finding.Num(1))
	}
	return n
}

// words reads a text behind its length.
func words(b []byte) (text string, n int) {
	const longest = 1 << 10
	if len(b) < 4 {
		return "", 0
	}
	n = int(min(binary.BigEndian.Uint32(b), longest))
	if len(b) < 4+n {
		return "", 0
	}
	return ask.Clip(b[4 : 4+n]), 4 + n
}

// Gap ends the analysis before the handshake is over.
func (a *analyzer) Gap(*proto.Scope, flow.Dir, int) error {
	if a.step == done {
		return nil
	}
	return frames.ErrGap
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
