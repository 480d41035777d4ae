package aidiag

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"netwhy/aidiag/faulttest"
	"netwhy/analyze/conn"
)

// TestOwnConnections: a failure of our own call is no reason for the next one.
func TestOwnConnections(t *testing.T) {
	t.Parallel()
	closed := faulttest.New(t)
	closed.Stop()
	w := newWorld(t, faulttest.Healthy())
	w.cfg.Providers = w.cfg.Providers[:1]
	w.cfg.Providers[0].Endpoints = []string{closed.URL(), w.a1.URL()}
	e := w.run()
	if a := ask(t, e, testCase("D1")); a.State != Answered {
		t.Fatalf("got %+v", a)
	}
	ours := testCase("D2")
	ours.Connections = []conn.Summary{{Client: conn.Side{Addr: netip.MustParseAddrPort("127.0.0.1:1")}, Server: conn.Side{Addr: netip.MustParseAddrPort(closed.Addr())}}}
	if a := ask(t, e, ours); a.State != Off || !strings.Contains(a.Reason, "own connection") {
		t.Errorf("got %s: %s", a.State, a.Reason)
	}
	ours.Connections = append(ours.Connections, testCase("D3").Connections...)
	if a := ask(t, e, ours); a.State != Answered {
		t.Errorf("a case of the user's was left out: %s", a.Reason)
	}
}

// TestAskAll: more cases than fit, all answered, in their order.
func TestAskAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.Healthy())
	w.cfg.Queue = 4
	var cases []Case
	for i := range 50 {
		cases = append(cases, testCase(fmt.Sprintf("D%d", i+1)))
	}
	got := w.engine().AskAll(t.Context(), cases)
	if len(got) != len(cases) {
		t.Fatalf("%d answers for %d cases", len(got), len(cases))
	}
	for i, a := range got {
		if a.Case != cases[i].ID || a.State != Answered {
			t.Errorf("%d: %s %s %s", i, a.Case, a.State, a.Reason)
		}
	}
	if len(w.engine().AskAll(t.Context(), nil)) != 0 {
		t.Error("answers to nothing")
	}
}

func TestCloudBehindLocalIsNotAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.HTML(200))
	w.lonely(0)
	w.cfg.Providers = append(w.cfg.Providers, Provider{Name: "deepseek"})
	a := ask(t, w.run(), testCase("D1"))
	if len(a.Decisions) != 1 || !w.said("deepseek is not asked: it stands behind the local provider A") {
		t.Errorf("got %+v %v", a.Decisions, w.events)
	}
}
