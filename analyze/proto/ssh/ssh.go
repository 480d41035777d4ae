// Package ssh reads what Secure Shell shows outside of its encryption: banners
// (RFC 4253, 4.2), how the key exchange goes, and by the sizes of encrypted
// packets whether a login succeeds (RFC 4252).
//
// # Why sizes tell
//
// Behind the key exchange the client asks for the service "ssh-userauth" and the
// server accepts it: a payload of 17 bytes. To each attempt to log in the server
// answers with a failure, which names the methods that can continue and so is
// longer, or with success, a single byte: with any cipher's blocks 16 bytes less
// than the acceptance. Wrong guesses of ciphers with odd blocks are caught by
// the length of what follows: no login moves so little.
package ssh

import (
	"bytes"
	"encoding/binary"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "ssh.login-failed"
	KeyExchange finding.Code = "ssh.key-exchange-failed"
	Version1    finding.Code = "ssh.obsolete-version"
	Dropped     finding.Code = "ssh.dropped"
)

// name is the protocol as Wireshark and the report call it.
const name = "ssh"

// Spec declares the analyzer.
func Spec() proto.Spec {
	server := finding.Metric{Name: "server_version", Text: true, Doc: "software of the server"}
	client := finding.Metric{Name: "client_version", Text: true, Doc: "software of the client"}
	return proto.Spec{
		Name: name, Doc: "Secure Shell, RFC 4253 and RFC 4252",
		Carrier: proto.TCP, Ports: []uint16{22},
		First: func(_ flow.Dir, c byte) bool { return c == 'S' },
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			const magic = "SSH-"
			if len(b) < len(magic) {
				if bytes.HasPrefix([]byte(magic), b) {
					return proto.NeedMore
				}
				return proto.No
			}
			if string(b[:len(magic)]) == magic {
				return proto.Certain
			}
			return proto.No
		},
		New:    func() proto.Analyzer { return &analyzer{} },
		Counts: true,
		Again:  func(s *proto.Scope, _ flow.Dir, _ []byte) { s.Carries(name) },
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Info,
				Doc: "A session ended after the key exchange without a login that succeeded, as far as the sizes of encrypted packets tell (RFC 4252, 5.1). One is a typing error or an agent without the right key.",
				Metrics: []finding.Metric{
					{Name: "attempts", Merge: finding.Sum, Doc: "answers of the server that are no success; the first may answer the question for methods"},
					{Name: "duration_seconds", Merge: finding.Max, Doc: "of the session"},
					client, server,
				},
			},
			{
				Code: KeyExchange, Severity: finding.Info,
				Doc:     "The connection, or the capture, ended during the key exchange: no algorithm in common, a host key that the client does not accept, or a scanner (RFC 4253, 7).",
				Metrics: []finding.Metric{{Name: "stage", Text: true, Doc: "what was seen last: banner, kexinit, exchange"}, client, server},
			},
			{
				Code: Version1, Severity: finding.Notice,
				Doc:     "One end speaks SSH 1 only, which is broken (RFC 4253, 5).",
				Metrics: []finding.Metric{client, server},
			},
			{
				Code: Dropped, Severity: finding.Info,
				Doc:     "The server closed before or instead of its banner: too many connections (MaxStartups), or an access list.",
				Metrics: []finding.Metric{client},
			},
		},
	}
}

// Message numbers (RFC 4253, 12).
const (
	msgKexInit = 20
	msgNewKeys = 21
	// Success is shorter than the acceptance of the service by this much: 1 and
	// 17 bytes of payload.
	successLess = 16
	// A session that is used moves more turns than any number of attempts that
	// servers allow (MaxAuthTries 6, two turns each with passwords).
	usedTurns = 24
)

// half is one direction.
type half struct {
	version   string
	kexInit   bool
	encrypted bool
}

type analyzer struct {
	half     [2]half
	started  int64
	turns    int      // of encrypted bytes: changes to the server
	last     flow.Dir // who sent encrypted bytes last
	accept   int      // size of the server's first answer; 0: not yet
	attempts int
	success  bool
	first    bool // nothing encrypted came yet
	gaps     bool
	bytes    [2]int
	at       int64 // of the last bytes
	frame    uint64
}

// Data takes a banner line, a packet of the key exchange, or encrypted bytes.
func (a *analyzer) Data(s *proto.Scope, dir flow.Dir, b []byte) (int, error) {
	h := &a.half[dir]
	s.Carries(name) // tshark shows the beginning of a packet too
	a.at, a.frame = s.Now(), s.Frame()
	if a.started == 0 {
		a.started = s.Now()
	}
	switch {
	case h.encrypted:
		a.cipher(s, dir, len(b))
		return len(b), nil
	case h.version == "":
		line, used := frames.Line(b)
		if used > 0 && bytes.HasPrefix(line, []byte("SSH-")) {
			h.version = ask.Clip(line[4:])
			a.banner(s, dir, h.version)
		}
		return used, nil // lines before the banner are allowed (RFC 4253, 4.2)
	}
	const shortest, longest = 12, 1 << 18
	if len(b) < 6 {
		return 0, nil
	}
	n := int(binary.BigEndian.Uint32(b))
	if n < shortest-4 || n > longest {
		if h.version[0] == '1' && a.half[dir.Reverse()].version != "" {
			h.encrypted = true // SSH 1 has other packets
			return len(b), nil
		}
		return len(b), errPacket
	}
	if b[5] == msgKexInit {
		h.kexInit = true
	}
	if 4+n > proto.MaxBuffered/2 {
		return len(b), errPacket
	}
	if len(b) < 4+n {
		return 0, nil
	}
	if b[5] == msgNewKeys {
		h.encrypted = true
	}
	return 4 + n, nil
}

type fault string

func (f fault) Error() string { return string(f) }

const errPacket fault = "length of an SSH packet is impossible"

func (a *analyzer) banner(s *proto.Scope, dir flow.Dir, version string) {
	name := "ssh.client"
	if dir == flow.ToClient {
		name = "ssh.server"
	}
	s.Attr(name, version)
	if len(version) > 3 && version[:2] == "1." && version[:4] != "1.99" {
		s.Report(Version1, finding.Text(a.half[0].version), finding.Text(a.half[1].version))
	}
}

// cipher weighs encrypted bytes.
func (a *analyzer) cipher(s *proto.Scope, dir flow.Dir, n int) {
	if !a.half[0].encrypted || !a.half[1].encrypted {
		return // the server's list of extensions comes before the client's keys
	}
	a.bytes[dir] += n
	turned := dir != a.last || !a.first
	if dir == flow.ToServer {
		a.first, a.last = true, dir
		return
	}
	if !a.first {
		return // extensions of the server (RFC 8308, 2.4)
	}
	a.last = dir
	if turned {
		a.turns++
	}
	switch {
	case a.success:
	case a.accept == 0:
		a.accept = n
	case n == a.accept-successLess:
		a.success = true
		a.login(s, true)
	case turned:
		a.attempts++
		if a.turns > usedTurns {
			a.success = true
			a.login(s, true)
		}
	}
}

func (*analyzer) login(s *proto.Scope, ok bool) {
	s.Publish(&proto.Login{Protocol: "ssh", Client: s.Client().Addr(), Server: s.Server(), OK: ok, Guessed: true})
}

// Gap makes sizes meaningless.
func (a *analyzer) Gap(_ *proto.Scope, dir flow.Dir, _ int) error {
	a.gaps = true
	if !a.half[dir].encrypted {
		return frames.ErrGap
	}
	return nil
}

// End tells how the session ended.
func (a *analyzer) End(last *proto.Scope, why proto.End) {
	at := *last // the proof is where the session stopped, not where its end was noticed
	s := &at
	s.At, s.FrameNo = a.at, a.frame
	client, server := finding.Text(a.half[flow.ToServer].version), finding.Text(a.half[flow.ToClient].version)
	switch {
	case a.gaps || why == proto.Evicted || a.success:
	case a.half[0].encrypted && a.half[1].encrypted:
		a.giveUp(s, client, server)
	case a.half[flow.ToServer].version != "" && a.half[flow.ToClient].version == "":
		s.Report(Dropped, client)
	case a.half[0].version != "" && a.half[1].version != "":
		stage := "banner"
		if a.half[0].kexInit || a.half[1].kexInit {
			stage = "kexinit"
		}
		if a.half[0].encrypted || a.half[1].encrypted {
			stage = "exchange"
		}
		s.Report(KeyExchange, finding.Text(stage), client, server)
	}
}

func (a *analyzer) giveUp(s *proto.Scope, client, server finding.Value) {
	// Sizes of a login that succeeded but was not recognised: a session's first
	// answers alone are longer than those to any number of attempts.
	const used = 4 << 10
	if a.attempts == 0 || a.bytes[flow.ToClient] > used || a.bytes[flow.ToServer] > 2*used {
		return
	}
	s.Report(LoginFailed, finding.Num(a.attempts), finding.Num(float64(s.Now()-a.started)/1e9), client, server)
	a.login(s, false)
}
