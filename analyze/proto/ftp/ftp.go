// Package ftp reads the control connection of the File Transfer Protocol (RFC
// 959): failed logins, data connections that do not come up, other refusals.
package ftp

import (
	"bytes"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/analyze/proto"
	"netwhy/analyze/proto/internal/dialog"
)

// Codes of findings.
const (
	LoginFailed finding.Code = "ftp.login-failed"
	DataFailed  finding.Code = "ftp.data-failed"
	Refused     finding.Code = "ftp.refused"
	Unavailable finding.Code = "ftp.unavailable"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	code := finding.Metric{Name: "code", Doc: "reply code (RFC 959, 4.2)"}
	verb := finding.Metric{Name: "command", Text: true, Doc: "command that was answered so"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	replies := finding.Metric{Name: "replies", Merge: finding.Sum, Doc: "such replies"}
	return proto.Spec{
		Name: "ftp", Doc: "File Transfer Protocol, RFC 959",
		Carrier: proto.TCP, Ports: []uint16{21},
		First: func(dir flow.Dir, c byte) bool { return dialog.Begins(dir, c, "UAF", "1245") },
		Probe: probe,
		New: func() proto.Analyzer {
			a := &analyzer{}
			a.Dialog = dialog.New("ftp", a.reply, "PASS", "ACCT")
			return a
		},
		Codes: []finding.Def{
			{
				Code: LoginFailed, Severity: finding.Notice,
				Doc:     "The server did not accept user and password: 530 (RFC 959, 5.4).",
				Metrics: []finding.Metric{{Name: "user", Text: true, Doc: "as the client gave it"}, text, {Name: "attempts", Merge: finding.Sum, Doc: "failed logins"}},
			},
			{
				Code: DataFailed, Severity: finding.Notice,
				Doc:     "The data connection could not be opened (425) or broke (426): firewalls and address translation that do not know FTP do that (RFC 959, 5.4; RFC 2428).",
				Metrics: []finding.Metric{code, verb, text, replies},
			},
			{
				Code: Unavailable, Severity: finding.Notice,
				Doc:     "The server has no place for the client or ends the session: 421 (RFC 959, 4.2.2).",
				Metrics: []finding.Metric{code, verb, text, replies},
			},
			{
				Code: Refused, Severity: finding.Info,
				Doc:     "The server refused a command for another reason: no such file, no permission, unknown command.",
				Metrics: []finding.Metric{code, verb, {Name: "argument", Text: true, Doc: "the command's argument"}, text, replies},
			},
		},
	}
}

// probe wants a greeting of which FTP is a word, or a client that logs in.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToClient {
		switch {
		case !dialog.ProbeReply(b, "220", "120", "421", "530"):
			if len(b) < 4 {
				return proto.NeedMore
			}
			return proto.No
		case bytes.Contains(bytes.ToUpper(b[:min(len(b), 256)]), []byte("FTP")), b[0] != '2' && b[0] != '1':
			return proto.Likely // a server that turns the client away says no more
		}
		return proto.NeedMore
	}
	for _, verb := range []string{"USER ", "AUTH TLS", "AUTH SSL", "FEAT\r"} {
		if len(b) >= len(verb) && strings.EqualFold(string(b[:len(verb)]), verb) {
			return proto.Likely // POP3 has USER too; the greeting tells, or the port
		}
		if len(b) < len(verb) && strings.EqualFold(string(b), verb[:len(b)]) {
			return proto.NeedMore
		}
	}
	return proto.No
}

type analyzer struct {
	*dialog.Dialog

	user string
}

func (a *analyzer) reply(s *proto.Scope, r *dialog.Reply) {
	code, text, verb, one := finding.Num(r.Code), finding.Text(r.Text), finding.Text(r.Verb), finding.Num(1)
	if r.Verb == "USER" {
		a.user = r.Arg
	}
	login := proto.Login{Protocol: "ftp", Client: s.Client().Addr(), Server: s.Server(), User: a.user}
	switch {
	case r.Code == 234 && r.Verb == "AUTH":
		s.Become()
	case r.Code == 230 && (r.Verb == "PASS" || r.Verb == "USER"):
		login.OK = true
		s.Publish(&login)
	case r.Code == 530 && (r.Verb == "PASS" || r.Verb == "USER" || r.Verb == ""):
		s.Report(LoginFailed, finding.Text(a.user), text, one)
		s.Publish(&login)
	case r.Code == 425 || r.Code == 426:
		s.Report(DataFailed, code, verb, text, one)
	case r.Code == 421:
		s.Report(Unavailable, code, verb, text, one)
	case r.Code >= 400:
		s.Report(Refused, code, verb, finding.Text(r.Arg), text, one)
	}
}

// End does nothing: what is said is said.
func (*analyzer) End(*proto.Scope, proto.End) {}
