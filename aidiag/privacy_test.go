package aidiag

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/llm"
	"netwhy/aidiag/internal/words"
	"netwhy/analyze/finding"
)

// TestNothingOfTheCaptureLeaves: a case full of what must not leave.
func TestNothingOfTheCaptureLeaves(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"10.0.0.5", "10.0.0.9", "printer.corp.example", "db.corp.example", "corp", "/secret/path?token=abc", "alice", "00:1b:44:11:3a:b7",
		"203.0.113.7", "2001:db8::17", "session=deadbeef", "Mozilla", "payroll-check", "hunter2", "-----BEGIN", "GET /",
	}
	w := newWorld(t, faulttest.Healthy())
	w.lonely(0)
	c := testCase("D1")
	c.Local.Rule, c.Local.Cause = "payroll-check", "payroll-check"
	c.Local.Title, c.Local.Explanation = "alice at 10.0.0.9", "hunter2"
	for i, s := range secrets {
		c.Findings = append(c.Findings, Symptom{Index: 10 + i, Finding: finding.Finding{
			Code: "http.error", Severity: finding.Warning, Host: netip.MustParseAddr("203.0.113.7"), Evidence: evidenceAt(uint64(40 + i)),
			Values: []finding.Value{finding.Text(s), finding.Text(s), finding.Num(503)},
		}})
	}
	c.Texts = []Text{{Frame: 1, Value: "hunter2"}}
	a := ask(t, w.run(), c)
	w.complete(c, a)
	body := string(w.a1.Requests()[0].Body)
	for _, s := range secrets {
		if strings.Contains(strings.ToLower(body), strings.ToLower(s)) {
			t.Errorf("%q left the machine", s)
		}
	}
	for _, want := range []string{"ip-priv-1.", "ip-pub-", "ip6-pub-", "host-", "mac-", "path-", "receiver", "11.2", "5432"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for name, v := range w.a1.Requests()[0].Header {
		if strings.Contains(strings.Join(v, " "), "netwhy") {
			t.Errorf("header %s: %v", name, v)
		}
	}
}

// TestHostNamesByChoice: only what the user chose leaves in clear.
func TestHostNamesByChoice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.lonely(0)
	w.cfg.Send = []string{sendHostNames}
	ask(t, w.run(), testCase("D1"))
	body := string(w.a1.Requests()[0].Body)
	if !strings.Contains(body, "db.corp.example") || strings.Contains(body, "10.0.0.5") {
		t.Errorf("sent %s", body)
	}
}

// TestPreviewIsWhatLeaves: byte for byte.
func TestPreviewIsWhatLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.deps.nonce = func() string { return "marker-test" }
	keys := 0
	get := w.deps.Getenv
	w.deps.Getenv = func(s string) string { keys++; return get(s) }
	to, body, err := w.engine().Preview(testCase("D1"))
	if err != nil || keys > 0 || w.a1.Accepted() > 0 {
		t.Fatalf("err %v, %d keys read, %d connections", err, keys, w.a1.Accepted())
	}
	ask(t, w.run(), testCase("D1"))
	sent := w.a1.Requests()[0]
	if !bytes.Equal(body, sent.Body) {
		t.Errorf("preview %s\nsent    %s", body, sent.Body)
	}
	if to != w.a1.URL()+"/chat/completions" {
		t.Errorf("to %s", to)
	}
	if n := llmTokens(body); n > maxCaseTokens {
		t.Errorf("about %d tokens", n)
	}
}

// TestPreviewForASmallModel: also where half of the evidence would leave.
func TestPreviewForASmallModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.lonely(0)
	w.cfg.Providers[0].ContextTokens = 2048
	w.deps.nonce = func() string { return "marker-test" }
	c := testCase("D1")
	for i := range 60 {
		c.Findings = append(c.Findings, Symptom{Index: 10 + i, Finding: c.Findings[0].Finding})
	}
	_, body, err := w.engine().Preview(c)
	if err != nil {
		t.Fatal(err)
	}
	a := ask(t, w.run(), c)
	if sent := w.a1.Requests(); len(sent) != 1 || !bytes.Equal(body, sent[0].Body) || !a.Shortened || !strings.Contains(seen(a), "evidence shortened") {
		t.Errorf("%d requests, shortened %t: %s\npreview %s", len(sent), a.Shortened, seen(a), body)
	}
}

func llmTokens(body []byte) int {
	r := faulttest.Request{Body: body}
	i := strings.Index(r.User(), `{"rules_say"`)
	return (len(r.User())-i)/2 + proseTokens(len(r.System())+i)
}

// TestQuietUntilACase: making, submitting and previewing open no socket and read
// no key.
func TestQuietUntilACase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.deps.Getenv = func(name string) string { t.Errorf("%s was read", name); return "" }
	w.deps.Dial = func(_ context.Context, _, addr string) (net.Conn, error) {
		t.Errorf("%s was dialled", addr)
		return nil, os.ErrDeadlineExceeded
	}
	w.cfg.Providers[0].APIKeyEnv, w.cfg.Providers[0].APIKeyFile = "", "/nonexistent/key"
	e := w.engine()
	e.Submit(testCase("D1"))
	if _, _, err := e.Preview(testCase("D1")); err != nil {
		t.Error(err)
	}
	_ = e.Status()
	e.NetworkUp()
}

// TestCacheAndSingleFlight: equal cases are one question.
func TestCacheAndSingleFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.lonely(0)
	w.cfg.Cache = true
	e := w.run()
	for i := range 10 {
		c := testCase("D1")
		c.ID = []string{"D1", "D2", "D3"}[i%3]
		e.Submit(c)
	}
	for range 10 {
		if a := next(t, e); a.State != Answered || a.Diagnosis.Cause != "receiver-zero-window" {
			t.Errorf("got %+v", a)
		}
	}
	if n := len(w.a1.Requests()); n != 1 {
		t.Errorf("%d requests for one question", n)
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.lonely(0)
	w.cfg.Budget = Budget{RequestsPerHour: 3, TokensPerRun: -1}
	e := w.run()
	for i := range 5 {
		a := ask(t, e, testCase("D1"))
		if (a.State == Answered) != (i < 3) {
			t.Errorf("case %d: %s %s", i, a.State, a.Reason)
		}
		if i >= 3 && (a.Class != llm.Quota || !strings.Contains(a.Reason, "3 requests an hour")) {
			t.Errorf("got %q", a.Reason)
		}
	}
	w = newWorld(t, faulttest.Healthy())
	w.lonely(0)
	w.cfg.Budget = Budget{RequestsPerHour: -1, TokensPerRun: 6300}
	e = w.run()
	if a := ask(t, e, testCase("D1")); a.State != Answered || a.Tokens.Prompt != 700 {
		t.Errorf("got %+v", a)
	}
	ask(t, e, testCase("D2"))
	if a := ask(t, e, testCase("D3")); a.Class != llm.Quota || !strings.Contains(a.Reason, "tokens") {
		t.Errorf("got %+v", a)
	}
}

// TestLedgerBooksAhead: what is under way counts in full, so that many at once
// do not spend more than the run may.
func TestLedgerBooksAhead(t *testing.T) {
	t.Parallel()
	l := &ledger{perHour: -1, perRun: 2*perRequest + 100, words: words.In("en")}
	for i := range 3 {
		if err := l.request(); (err == nil) != (i < 2) {
			t.Errorf("request %d: %v", i, err)
		}
	}
	l.spent(2, 150)
	if err := l.request(); err != nil { // 150 and one more fit
		t.Error(err)
	}
	l.spent(1, 2*perRequest)
	if err := l.request(); err == nil || l.used() != 2*perRequest+150 {
		t.Errorf("%v behind %d tokens", err, l.used())
	}
}

// TestAnswerReachesTheReport: names come back, disagreement is shown.
func TestAnswerReachesTheReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Model(func(e faulttest.Evidence, r faulttest.Request) faulttest.Say {
		s := faulttest.Honest(e)
		s.LikelyCause = "slow-server-application"
		user := r.User()
		i := strings.Index(user, `"server":"`) + len(`"server":"`)
		server := user[i : i+strings.IndexByte(user[i:], '"')]
		s.Summary = "The server " + server + " stopped reading for 11.2 s."
		s.Claims = append(s.Claims, faulttest.SayClaim{Text: "It stalled for 999 s.", Kind: "tcp", FindingIDs: []string{"F1"}, Frames: []uint64{4411}, Confidence: "low"})
		return s
	}))
	w.lonely(0)
	c := testCase("D1")
	a := ask(t, w.run(), c)
	w.complete(c, a)
	d := a.Diagnosis
	if a.State != Partial || a.Agrees || d.Cause != "slow-server-application" || a.Local.Cause != "receiver-zero-window" {
		t.Errorf("got %+v", a)
	}
	if d.Title != "The server 10.0.0.5:5432 stopped reading for 11.2 s." {
		t.Errorf("title %q", d.Title)
	}
	if len(a.Rejected) != 1 || !strings.Contains(a.Rejected[0].Reason, "999") || !strings.Contains(a.Reason, "1 of the AI's claims") {
		t.Errorf("rejected %+v, %s", a.Rejected, a.Reason)
	}
	if d.Confidence >= c.Local.Confidence/2 || !slices.Equal(d.Evidence, []int{0}) || !slices.Equal(d.Frames, []uint64{4411}) || d.NextStep == nil || d.NextStep.Command != "mtr -n <server>" {
		t.Errorf("got %+v", d)
	}
	s := Summarize([]Answer{a}, "en")
	if s.State != Partial || s.Provider != "A" || s.Endpoint != w.a1.URL() || s.Model != "fault-1" || s.Tokens.Prompt != 700 || len(s.Decisions) != 1 || len(s.Rejected) != 1 {
		t.Errorf("section %+v", s)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		`"state"`, `"reason"`, `"provider"`, `"endpoint"`, `"model"`, `"tokens":{"prompt":700,"completion":90}`, `"rejected_claims":[{`, `"decisions":[{"case":"D1","attempt":1,"provider":"A"`,
		`"error_class":""`, `"error_code":""`, `"http_status":200`, `"request_id"`, `"counted":false`, `"breaker_state":"closed"`, `"backoff_ms":0`, `"ttfb_ms"`, `"duration_ms"`, `"next":"done"`,
	} {
		if !strings.Contains(string(b), key) {
			t.Errorf("%s is missing in %s", key, b)
		}
	}
	if b, err = json.Marshal(Summarize(nil, "en")); err != nil || !strings.Contains(string(b), `"rejected_claims":[],"decisions":[]`) || strings.Contains(string(b), "null") {
		t.Errorf("%s %v", b, err)
	}
}

func TestSummaryStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   []State
		want State
	}{
		{[]State{Answered, Answered}, Answered},
		{[]State{Answered, FellBack}, Partial},
		{[]State{Partial}, Partial},
		{[]State{FellBack, FellBack}, FellBack},
		{[]State{Off}, Off},
	} {
		var as []Answer
		for _, s := range c.in {
			a := Answer{Case: "D1", State: s}
			if s != Answered {
				a.Reason = "why"
			}
			as = append(as, a)
		}
		if got := Summarize(as, "en"); got.State != c.want || (got.State != Answered) != strings.Contains(got.Reason, "why") {
			t.Errorf("%v: %s %q", c.in, got.State, got.Reason)
		}
	}
}

func TestManyCallers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.cfg.Queue = 500
	e := w.run()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 20 {
				if back := e.Submit(testCase("D1")); len(back) > 0 {
					t.Error("shed")
				}
			}
		})
	}
	for range 200 {
		if a := next(t, e); a.State != Answered {
			t.Errorf("got %s: %s", a.State, a.Reason)
		}
	}
	wg.Wait()
}
