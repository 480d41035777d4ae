package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/rules"
	"netwhy/rules/diagnosis"
)

func TestReadLabels(t *testing.T) {
	t.Parallel()
	got, err := rules.ReadLabels(strings.NewReader("name\troot_cause\tx\tculprit\talso_acceptable\r\na.pcap\tsyn-flood\t-\tclient\tport-scan, connection-refused\r\n\nb.pcap\thealthy\n"))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v %v", got, err)
	}
	if l := got[0]; l.Name != "a.pcap" || l.Cause != "syn-flood" || l.Culprit != "client" || len(l.Also) != 2 || l.Also[1] != "connection-refused" {
		t.Errorf("got %+v", l)
	}
	for _, c := range []struct{ text, want string }{
		{"", "no line"},
		{"name\tcause\n", `no column "root_cause"`},
		{"name\troot_cause\n\tx\n", "line 2: a capture without name or cause"},
	} {
		if _, err := rules.ReadLabels(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestScore(t *testing.T) {
	t.Parallel()
	labels := []rules.Label{
		{Name: "right", Cause: "syn-flood", Culprit: "client"},
		{Name: "second", Cause: "syn-flood", Culprit: "client"},
		{Name: "also", Cause: "dns-slow", Culprit: "resolver", Also: []diagnosis.Cause{"dns-timeout"}},
		{Name: "party", Cause: "dns-slow", Culprit: "resolver"},
		{Name: "nothing", Cause: "dns-slow"},
		{Name: "broken", Cause: "dns-slow"},
		{Name: "quiet", Cause: rules.Healthy},
		{Name: "noisy", Cause: rules.Healthy},
	}
	say := func(c diagnosis.Cause, who diagnosis.Culprit, s finding.Severity) diagnosis.Diagnosis {
		return diagnosis.Diagnosis{Cause: c, Culprit: who, Severity: s}
	}
	said := map[string][]diagnosis.Diagnosis{
		"right":  {say("syn-flood", "client", finding.Critical)},
		"second": {say("port-scan", "client", finding.Warning), say("syn-flood", "client", finding.Notice)},
		"also":   {say("dns-timeout", "resolver", finding.Critical)},
		"party":  {say("dns-slow", "server", finding.Warning)},
		"quiet":  {say("port-scan", "client", finding.Notice)},
		"noisy":  {say("port-scan", "client", finding.Warning)},
	}
	s, err := rules.Test(t.Context(), labels, func(_ context.Context, name string) ([]diagnosis.Diagnosis, error) {
		if name == "broken" {
			return nil, errors.New("cut short")
		}
		return said[name], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Faulty != 6 || s.First != 3 || s.Three != 4 || s.Party != 3 || s.Healthy != 2 || s.FalseAlarms != 1 {
		t.Errorf("got %d faulty, %d first, %d in three, %d party, %d healthy, %d false alarms", s.Faulty, s.First, s.Three, s.Party, s.Healthy, s.FalseAlarms)
	}
	var b strings.Builder
	if _, err := s.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cause first  3 of 6 (50.0 %)", "in first 3   4 of 6 (66.7 %)", "culprit      3 of 4 (75.0 %)", "false alarms 1 of 2 healthy captures",
		"broken: dns-slow: cut short", "noisy: healthy, but said port-scan (client, warning)", "second: syn-flood, but said port-scan",
		"party: dns-slow of the resolver, but said dns-slow (server, warning)", "(error) 1, (nothing) 1",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestTestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	s, err := rules.Test(ctx, []rules.Label{{Name: "a"}, {Name: "b"}}, func(context.Context, string) ([]diagnosis.Diagnosis, error) {
		cancel(why)
		return nil, nil
	})
	if !errors.Is(err, why) || len(s.Cases) != 1 {
		t.Errorf("got %v after %d cases", err, len(s.Cases))
	}
}

func TestMeets(t *testing.T) {
	t.Parallel()
	r := &rules.Rule{ID: "x", Cause: "syn-flood"}
	notice := []diagnosis.Diagnosis{{Cause: "syn-flood", Severity: finding.Notice}}
	warning := []diagnosis.Diagnosis{{Cause: "syn-flood", Severity: finding.Warning}}
	for _, c := range []struct {
		fires bool
		said  []diagnosis.Diagnosis
		ok    bool
	}{{true, notice, true}, {true, nil, false}, {false, notice, true}, {false, warning, false}, {false, nil, true}} {
		e := rules.Expectation{Rule: r, File: "f", Fires: c.fires}
		if err := e.Meets(c.said); (err == nil) != c.ok {
			t.Errorf("fires %v, said %d: %v", c.fires, len(c.said), err)
		}
	}
}
