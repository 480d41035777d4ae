// Package smtp reads the Simple Mail Transfer Protocol (RFC 5321): what servers
// reject, defer and do not understand, and logins (RFC 4954).
package smtp

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
	Rejected      finding.Code = "smtp.rejected"
	Deferred      finding.Code = "smtp.deferred"
	ProtocolError finding.Code = "smtp.protocol-error"
	AuthFailed    finding.Code = "smtp.auth-failed"
)

// Spec declares the analyzer.
func Spec() proto.Spec {
	code := finding.Metric{Name: "code", Doc: "reply code (RFC 5321, 4.2.3)"}
	verb := finding.Metric{Name: "command", Text: true, Doc: "command that was answered so; connect: the greeting, content: the message itself"}
	arg := finding.Metric{Name: "argument", Text: true, Doc: "its argument: the sender or recipient"}
	text := finding.Metric{Name: "text", Text: true, Doc: "the server's words"}
	return proto.Spec{
		Name: "smtp", Doc: "Simple Mail Transfer Protocol, RFC 5321",
		Also:    dialog.MailNames(),
		Carrier: proto.TCP, Ports: []uint16{25, 587, 2525}, Unlisted: []uint16{2525},
		First: func(dir flow.Dir, c byte) bool { return dialog.Begins(dir, c, "EHL", "245") },
		Probe: probe,
		New:   newAnalyzer,
		Codes: []finding.Def{
			{
				Code: Rejected, Severity: finding.Notice,
				Doc:     "The server refuses the sender, the recipient, the message or the client for good: a reply 5yz that is no complaint about the language (RFC 5321, 4.2.1).",
				Metrics: []finding.Metric{code, verb, arg, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
			{
				Code: Deferred, Severity: finding.Notice,
				Doc:     "The server refuses for now: a reply 4yz, such as greylisting, a full mailbox or too many connections; the client has to come again (RFC 5321, 4.2.1).",
				Metrics: []finding.Metric{code, verb, arg, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
			{
				Code: ProtocolError, Severity: finding.Notice,
				Doc:     "The server did not understand a command, or not at this place: 500 to 504 (RFC 5321, 4.3.2).",
				Metrics: []finding.Metric{code, verb, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
			{
				Code: AuthFailed, Severity: finding.Notice,
				Doc:     "The server did not accept the credentials or wants some: 530, 534, 535, 538 (RFC 4954, 6).",
				Metrics: []finding.Metric{code, text, {Name: "replies", Merge: finding.Sum, Doc: "such replies"}},
			},
		},
	}
}

// probe wants a greeting that names the protocol, or a client's first command.
func probe(dir flow.Dir, b []byte) proto.Verdict {
	if dir == flow.ToClient {
		if !dialog.ProbeReply(b, "220", "554", "421") {
			if len(b) < 4 {
				return proto.NeedMore
			}
			return proto.No
		}
		line, _, _ := bytes.Cut(b, []byte{'\n'})
		upper := bytes.ToUpper(line)
		switch {
		case bytes.Contains(upper, []byte("SMTP")):
			return proto.Certain
		case bytes.Contains(upper, []byte("FTP")):
			return proto.No
		case b[0] != '2':
			return proto.Likely // a server that turns the client away may say no more
		}
		return proto.NeedMore // the client's EHLO will tell
	}
	for _, verb := range []string{"EHLO ", "HELO ", "LHLO "} {
		if len(b) >= len(verb) && strings.EqualFold(string(b[:len(verb)]), verb) {
			return proto.Certain
		}
		if len(b) < len(verb) && strings.EqualFold(string(b), verb[:len(b)]) {
			return proto.NeedMore
		}
	}
	return proto.No
}

type analyzer struct{ *dialog.Dialog }

func newAnalyzer() proto.Analyzer {
	a := analyzer{dialog.New("smtp", reply, "AUTH")}
	a.Mail = new(dialog.Mail)
	return a
}

func reply(s *proto.Scope, r *dialog.Reply) {
	code, text := finding.Num(r.Code), finding.Text(r.Text)
	login := proto.Login{Protocol: "smtp", Client: s.Client().Addr(), Server: s.Server()}
	switch {
	case r.Code == 220 && r.Verb == "STARTTLS":
		s.Become()
	case r.Code == 235:
		login.OK = true
		s.Publish(&login)
	case r.Code == 530 || r.Code == 534 || r.Code == 535 || r.Code == 538:
		s.Report(AuthFailed, code, text, finding.Num(1))
		if r.Code == 535 {
			s.Publish(&login)
		}
	case r.Code >= 500 && r.Code <= 504 && r.Verb != dialog.Content && r.Verb != "RCPT" && r.Verb != "MAIL":
		s.Report(ProtocolError, code, finding.Text(r.Verb), text, finding.Num(1))
	case r.Code >= 500:
		if r.Verb != "VRFY" && r.Verb != "EXPN" { // refused by most servers, on purpose
			s.Report(Rejected, code, finding.Text(r.Verb), finding.Text(r.Arg), text, finding.Num(1))
		}
	case r.Code >= 400:
		s.Report(Deferred, code, finding.Text(r.Verb), finding.Text(r.Arg), text, finding.Num(1))
	}
}

// End does nothing: what is said is said.
func (analyzer) End(*proto.Scope, proto.End) {}
