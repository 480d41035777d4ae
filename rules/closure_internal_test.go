package rules

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// programs are all expressions of a rule.
func (r *Rule) programs() []*program {
	out := []*program{r.when, r.culprit.expr, r.severity.expr, r.confidence, r.stalled, r.failed}
	texts := append([]text{r.title, r.explain}, r.remedies...)
	for i := range r.rivals {
		out = append(out, r.rivals[i].when)
		texts = append(texts, r.rivals[i].because)
	}
	if r.next != nil {
		texts = append(texts, r.next.command, r.next.tells)
	}
	for _, t := range texts {
		for _, lang := range []string{English, Chinese} {
			for i := range t.in(lang).parts {
				out = append(out, t.in(lang).parts[i].prog)
			}
		}
	}
	return out
}

// anything fills a value of plain fields at random, with few different figures, so
// that conditions hold now and then.
func anything(rnd *rand.Rand, v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the kinds that summaries have
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[netip.AddrPort]() {
			addrs := []string{"10.0.0.1:80", "[2001:db8::1]:443", "192.0.2.7:53"}
			v.Set(reflect.ValueOf(netip.MustParseAddrPort(addrs[rnd.IntN(len(addrs))])))
			return
		}
		for _, f := range v.Fields() {
			anything(rnd, f)
		}
	case reflect.Array:
		for i := range v.Len() {
			anything(rnd, v.Index(i))
		}
	case reflect.Int8, reflect.Int, reflect.Int64:
		figures := []int64{0, 1, 3, 40, 1_500_000_000}
		if v.Kind() == reflect.Int8 {
			figures = figures[:4]
		}
		v.SetInt(figures[rnd.IntN(len(figures))])
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint([]uint64{0, 1, 2, 42, 250}[rnd.IntN(5)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 0.25, 1, 3, 41, 503, 1e6}[rnd.IntN(7)])
	case reflect.Bool:
		v.SetBool(rnd.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"", "tls", "http", "reset", "x'y; z\x1b"}[rnd.IntN(5)])
	}
}

// TestClosuresAreTheMachine: what runs in closures has the value that expr gives, for
// every expression of the built-in rules.
func TestClosuresAreTheMachine(t *testing.T) {
	t.Parallel()
	s, err := LoadQuick(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	worlds := make([]*view, 6)
	for k := range worlds {
		in := &Input{Packets: 10, Bytes: 1000, Duration: 5e9, TCP: 3, UDP: 1}
		anything(rnd, reflect.ValueOf(&in.Trust).Elem())
		sub := &subject{addr: netip.MustParseAddr("10.0.0.1")}
		for n := range uint32(3) {
			c := &conn.Summary{Worst: &conn.Exchange{}}
			anything(rnd, reflect.ValueOf(c).Elem())
			anything(rnd, reflect.ValueOf(c.Worst).Elem())
			c.ID = flow.ID{Proto: flow.TCP, Stream: n + 1}
			sub.conns = append(sub.conns, &talk{sum: c, id: c.ID, client: c.Client.Addr, server: c.Server.Addr})
		}
		for _, code := range s.schema.codes {
			def := s.schema.defs[finding.Code(code)]
			for range rnd.IntN(3) {
				f := finding.Finding{Code: def.Code, Flow: sub.conns[rnd.IntN(3)].id}
				f.Evidence.Add(uint64(rnd.IntN(9))+1, rnd.Int64N(1e10))
				for _, m := range def.Metrics[:rnd.IntN(len(def.Metrics)+1)] {
					v := finding.Value{}
					if into := reflect.ValueOf(&v).Elem(); m.Text {
						anything(rnd, into.FieldByName("Text"))
					} else {
						anything(rnd, into.FieldByName("Num"))
					}
					f.Values = append(f.Values, v)
				}
				in.Findings = append(in.Findings, f)
				sub.findings = append(sub.findings, len(in.Findings)-1)
			}
		}
		v := newView(s, in, s.numbers(in))
		v.look(sub)
		v.blame, v.party, v.reach = "server", "server 10.0.0.1", reach{conns: k, clients: 1, failed: 2, stalled: 1.25}
		worlds[k] = v
	}
	m := newMachine()
	for _, r := range s.Rules() {
		for _, p := range r.programs() {
			if p == nil {
				continue
			}
			c := p.closure()
			if c == nil {
				t.Errorf("%s: only the machine can evaluate %q", r.ID, p.src.text)
				continue
			}
			for _, v := range worlds {
				if err := same(m, c, p, v); err != nil {
					t.Errorf("%s: %q: %v", r.ID, p.src.text, err)
				}
			}
		}
	}
}

func same(m *machine, c *closure, p *program, v *view) error {
	env := v.env()
	if p.env.use == forCulprit {
		host := env[nameHost]
		env[nameHost] = nameHost
		defer func() { env[nameHost] = host }()
	}
	want, err := m.run(p, v)
	if err != nil {
		return err
	}
	var got any
	switch {
	case c.num != nil:
		got, want = c.num(v), number(want)
	case c.text != nil:
		got = c.text(v)
	default:
		got = c.truth(v)
	}
	text, _ := show(want)
	if got != want && !(got != got && want != want) || c.show(v) != text { //nolint:gocritic,staticcheck // not a number is none
		return fmt.Errorf("got %v (%q), the machine says %v (%q)", got, c.show(v), want, text)
	}
	return nil
}
