// Package kerberos reads Kerberos version 5 (RFC 4120) over UDP and TCP: errors of
// the key distribution center, and logins that fail.
package kerberos

import (
	"encoding/binary"
	"strconv"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/ask"
	"netwhy/analyze/proto/internal/ber"
	"netwhy/analyze/proto/internal/frames"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "kerberos.login-failed"
	Error       finding.Code = "kerberos.error"
)

// Spec declares Kerberos over UDP, and the codes of both.
func Spec() proto.Spec {
	code := finding.Metric{Name: "code", Doc: "error code (RFC 4120, 7.5.9)"}
	name := finding.Metric{Name: "name", Text: true, Doc: "its meaning"}
	s := proto.Spec{
		Name: "kerberos", Doc: "Kerberos 5, RFC 4120",
		Carrier: proto.UDP, Ports: []uint16{88},
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if _, ok := parse(b); ok {
				return proto.Certain
			}
			return proto.No
		},
		New: func() proto.Analyzer { return &datagrams{kdc{book: ask.Book{Protocol: "kerberos"}}} },
	}
	s.Codes = []finding.Def{
		{
			Code: LoginFailed, Severity: finding.Notice,
			Doc:     "The key distribution center refused a login: no such principal (6), not at this time or from this host (12), pre-authentication failed (24: wrong password), revoked or locked (18), expired (23).",
			Metrics: []finding.Metric{code, name, {Name: "user", Text: true, Doc: "principal of the request"}, {Name: "attempts", Merge: finding.Sum, Doc: "refusals"}},
		},
		{
			Code: Error, Severity: finding.Info,
			Doc:     "The key distribution center answered with another error; that it wants pre-authentication (25) is the normal course of a login and is not told. 37 is a clock that is off.",
			Metrics: []finding.Metric{code, name, {Name: "errors", Merge: finding.Sum, Doc: "such answers"}},
		},
	}
	return s
}

// TCP declares Kerberos with four bytes of length before each message.
func TCP() proto.Spec {
	return proto.Spec{
		Name: "kerberos", Doc: "Kerberos 5 over TCP, RFC 4120, 7.2.2",
		Carrier: proto.TCP, Ports: []uint16{88},
		First: func(_ flow.Dir, c byte) bool { return c == 0 },
		Probe: func(_ flow.Dir, b []byte) proto.Verdict {
			if len(b) < 4 {
				return proto.NeedMore
			}
			if n := binary.BigEndian.Uint32(b); n < 8 || n > 1<<17 {
				return proto.No
			}
			if len(b) < 12 {
				return proto.NeedMore
			}
			if _, ok := parse(b[4:]); ok {
				return proto.Certain
			}
			return proto.No
		},
		New: newStream,
	}
}

// Message types (RFC 4120, 7.5.7): the application tags.
const (
	asReq, asRep, tgsReq, tgsRep, krbError = 10, 11, 12, 13, 30
	application                            = 0x60
	context                                = 0xa0
)

type message struct {
	typ  byte
	code int64
	user string
}

// parse reads type, error code and client name, as far as they are there.
func parse(b []byte) (m message, ok bool) {
	v, _, ok := ber.Head(b)
	if !ok || v.Tag&0xe0 != application {
		return m, false
	}
	m.typ = v.Tag & 0x1f
	switch m.typ {
	case asReq, asRep, tgsReq, tgsRep, krbError:
	default:
		return m, false
	}
	seq, _, ok := ber.Head(v.Body)
	if !ok || seq.Tag != ber.Sequence {
		return m, false
	}
	// The first field is the version, 5: [1] in requests, [0] in the others.
	first, _, ok := ber.Head(seq.Body)
	if !ok || first.Tag&^1 != context || len(first.Body) < 3 || first.Body[2] != 5 {
		return m, false
	}
	for rest := seq.Body; len(rest) > 0; {
		f, _, ok := ber.Head(rest)
		if !ok {
			break
		}
		switch {
		case m.typ == krbError && f.Tag == context|6:
			if n, _, ok := ber.Want(f.Body, ber.Integer); ok {
				m.code = ber.Int(n)
			}
		case m.typ == krbError && f.Tag == context|8, m.typ == asRep && f.Tag == context|4:
			m.user = principal(f.Body)
		case m.typ == asReq && f.Tag == context|4: // the body: options, then the name
			if body, _, ok := ber.Head(f.Body); ok {
				for in := body.Body; len(in) > 0; {
					g, _, ok := ber.Head(in)
					if !ok || g.Size > len(in) {
						break
					}
					if g.Tag == context|1 {
						m.user = principal(g.Body)
					}
					in = in[g.Size:]
				}
			}
		}
		if f.Size > len(rest) {
			break
		}
		rest = rest[f.Size:]
	}
	return m, true
}

// principal reads a PrincipalName (RFC 4120, 5.2.2): type, then parts.
func principal(b []byte) string {
	body, _, ok := ber.Want(b, ber.Sequence)
	if !ok {
		return ""
	}
	typ, rest, ok := ber.Next(body)
	if !ok || typ.Tag != context {
		return ""
	}
	parts, _, ok := ber.Next(rest)
	if !ok {
		return ""
	}
	seq, _, ok := ber.Want(parts.Body, ber.Sequence)
	if !ok {
		return ""
	}
	out := ""
	for len(seq) > 0 {
		p, rest, ok := ber.Next(seq)
		if !ok {
			break
		}
		if out != "" {
			out += "/"
		}
		out = ask.Clip([]byte(out + string(p.Body)))
		seq = rest
	}
	return out
}

type kdc struct {
	book ask.Book
	user string
}

func (k *kdc) message(s *proto.Scope, b []byte, total int) {
	m, ok := parse(b)
	if !ok {
		return
	}
	switch m.typ {
	case asReq, tgsReq:
		label := "AS-REQ"
		if m.typ == tgsReq {
			label = "TGS-REQ"
		}
		if m.user != "" {
			k.user = m.user
		}
		k.book.Queue(s, 0, label, total)
	case asRep, tgsRep:
		k.book.Answer(s, 0, "ok", false, total)
		if m.typ == asRep {
			s.Publish(&proto.Login{Protocol: "kerberos", Client: s.Client().Addr(), Server: s.Server(), User: k.user, OK: true})
		}
	case krbError:
		k.fails(s, m, total)
	}
}

func (k *kdc) fails(s *proto.Scope, m message, total int) {
	const policy, preauthRequired, tooBig = 12, 25, 52
	r, _, _ := k.book.Answer(s, 0, name(m.code), m.code != preauthRequired && m.code != tooBig, total)
	switch m.code {
	case preauthRequired, tooBig:
	case 6, policy, 18, 23, 24:
		if r.Label == "TGS-REQ" {
			s.Report(Error, finding.Num(m.code), finding.Text(name(m.code)), finding.Num(1))
			return
		}
		user := k.user
		if user == "" {
			user = m.user
		}
		s.Report(LoginFailed, finding.Num(m.code), finding.Text(name(m.code)), finding.Text(user), finding.Num(1))
		s.Publish(&proto.Login{Protocol: "kerberos", Client: s.Client().Addr(), Server: s.Server(), User: user})
	default:
		s.Report(Error, finding.Num(m.code), finding.Text(name(m.code)), finding.Num(1))
	}
}

func name(code int64) string {
	names := map[int64]string{
		3: "bad version", 6: "client not found", 7: "service not found", 12: "policy", 13: "bad option", 14: "encryption type not supported",
		18: "client revoked", 23: "password expired", 24: "pre-authentication failed", 25: "pre-authentication required",
		31: "integrity check failed", 32: "ticket expired", 33: "ticket not yet valid", 34: "replay", 37: "clock skew too great",
		41: "message modified", 52: "answer too big for UDP", 60: "generic error", 68: "wrong realm",
	}
	if t := names[code]; t != "" {
		return t
	}
	return strconv.FormatInt(code, 10)
}

type datagrams struct{ kdc }

// Data takes one datagram.
func (d *datagrams) Data(s *proto.Scope, _ flow.Dir, b []byte) (int, error) {
	if !s.Duplicate() {
		d.message(s, b, len(b))
	}
	return len(b), nil
}

// Gap does nothing: there is no stream.
func (*datagrams) Gap(*proto.Scope, flow.Dir, int) error { return nil }

// End does nothing: what is said is said.
func (*datagrams) End(*proto.Scope, proto.End) {}

type stream struct {
	frames.Reader

	kdc kdc
}

func newStream() proto.Analyzer {
	a := &stream{kdc: kdc{book: ask.Book{Protocol: "kerberos"}}}
	a.Length = func(_ flow.Dir, b []byte) (int, error) {
		if len(b) < 4 {
			return 0, nil
		}
		return 4 + int(binary.BigEndian.Uint32(b)&0x7fffffff), nil
	}
	a.Message = func(s *proto.Scope, _ flow.Dir, b []byte, total int) { a.kdc.message(s, b[4:], total) }
	return a
}

// End does nothing: what is said is said.
func (*stream) End(*proto.Scope, proto.End) {}
