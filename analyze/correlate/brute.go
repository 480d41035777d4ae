package correlate

import (
	"net/netip"

	"netwhy/analyze/finding"
	"netwhy/analyze/proto"
)

// Codes of logins.
const (
	LoginFailures finding.Code = "login.failures"
	LoginSpray    finding.Code = "login.spray"
)

const (
	// Three typing errors are a person (servers allow three to six); a program
	// with an old password is told by its single user and steady rhythm.
	repeatedFailures = 4
	// One person has one or two names at a service: five are a list.
	sprayedUsers = 5
	maxUsers     = 1 << 10
)

// Logins counts attempts to authenticate by who tries and where.
func Logins() Spec {
	common := []finding.Metric{
		{Name: "protocol", Text: true, Doc: "of the service"},
		{Name: "server", Text: true, Doc: "address and port of the service"},
		{Name: "failures", Merge: finding.Sum, Doc: "logins that failed"},
		{Name: "successes", Merge: finding.Sum, Doc: "logins that succeeded"},
		{Name: "successes_after", Merge: finding.Sum, Doc: "of these after the first failure"},
		{Name: "users", Merge: finding.Max, Doc: "different names tried; 0: not readable"},
		{Name: "user", Text: true, Doc: "first name tried"},
		{Name: "duration_seconds", Merge: finding.Max, Doc: "from the first to the last failure"},
		{Name: "per_minute", Merge: finding.Max, Doc: "failures a minute"},
		{Name: "guessed", Merge: finding.Max, Doc: "1 when told from sizes of encrypted packets"},
	}
	return Spec{
		Name: "logins", Doc: "logins that fail again and again: guessing of passwords, or a program with an old one",
		New: func() Correlator { return &logins{tries: map[tryKey]*tries{}} },
		Codes: []finding.Def{
			{
				Code: LoginFailures, Severity: finding.Notice,
				Doc:     "Logins of one client at one service failed, four or more. The finding's host is the client.",
				Metrics: common,
			},
			{
				Code: LoginSpray, Severity: finding.Notice,
				Doc:     "One client tried five different names or more at one service, and most failed: a list of users is tried. The finding's host is the client.",
				Metrics: common,
			},
		},
	}
}

type tryKey struct {
	client   netip.Addr
	server   netip.AddrPort
	protocol string
}

type tries struct {
	failures, successes, after uint64
	users                      map[string]struct{}
	user                       string
	ev                         evidence
	guessed                    bool
}

type logins struct {
	tries map[tryKey]*tries
	order []tryKey
	trail trail
}

// Hears implements Listener.
func (*logins) Hears() []any { return []any{(*proto.Login)(nil)} }

// Event takes logins.
func (l *logins) Event(_ *Out, e *proto.Event) {
	x, ok := e.Body.(*proto.Login)
	if !ok {
		return
	}
	k := tryKey{x.Client, x.Server, x.Protocol}
	t := l.tries[k]
	if t == nil {
		if len(l.tries) >= maxPairs {
			return
		}
		t = &tries{users: map[string]struct{}{}}
		l.tries[k] = t
		l.order = append(l.order, k)
	}
	t.guessed = t.guessed || x.Guessed
	if x.User != "" && len(t.users) < maxUsers {
		t.users[x.User] = struct{}{}
		if t.user == "" {
			t.user = x.User
		}
	}
	if x.OK {
		t.successes++
		if t.failures > 0 {
			t.after++
		}
		return
	}
	t.failures++
	t.ev.add(&l.trail, e.Frame, e.Time, e.Time)
}

// End tells who failed often.
func (l *logins) End(o *Out) {
	for _, k := range l.order {
		t := l.tries[k]
		if t.failures < repeatedFailures {
			continue
		}
		span := t.ev.seconds()
		rate := float64(t.failures) * 60 / max(span, 1)
		code := LoginFailures
		if len(t.users) >= sprayedUsers && t.failures > t.successes {
			code = LoginSpray
		}
		o.Emit(finding.Finding{
			Code: code, Severity: finding.Notice, Host: k.client, Evidence: t.ev.done(&l.trail),
			Values: []finding.Value{
				finding.Text(k.protocol), finding.Text(k.server.String()), finding.Num(t.failures), finding.Num(t.successes),
				finding.Num(t.after), finding.Num(len(t.users)), finding.Text(t.user), finding.Num(span), finding.Num(rate), flag(t.guessed),
			},
		})
	}
}
