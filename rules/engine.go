package rules

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/expr-lang/expr/vm"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

// machine runs programs. It is one goroutine's.
type machine struct{ vm vm.VM }

func newMachine() *machine { return &machine{vm: vm.VM{MemoryBudget: memoryBudget}} }

func (m *machine) run(p *program, env map[string]any) (any, error) {
	code, err := p.ready()
	if err != nil {
		return nil, err
	}
	return m.vm.Run(code, env)
}

// truth runs a condition.
func (m *machine) truth(p *program, env map[string]any) (bool, error) {
	v, err := m.run(p, env)
	b, _ := v.(bool)
	return b, err
}

func (m *machine) number(p *program, env map[string]any) (float64, error) {
	if p == nil {
		return 0, nil
	}
	v, err := m.run(p, env)
	if err != nil {
		return 0, err
	}
	return number(v), nil
}

// subject is what a rule is asked about: a conversation, a host or everything.
type subject struct {
	id       flow.ID    // connection scope
	addr     netip.Addr // host scope
	findings []int      // indices into the input's, ascending
	conns    []*conn.Summary
}

// hit is a rule that holds for a subject.
type hit struct {
	rule       *Rule
	sub        *subject
	culprit    diagnosis.Culprit
	severity   finding.Severity
	confidence float64
	stalled    float64
	failed     float64
	evidence   []int // indices of the findings that prove it, ascending
	conns      []*conn.Summary
	absorbed   []*hit // effects that it explains
	into       *hit   // the cause that explains this one
}

// judge is one run of the engine.
type judge struct {
	*Set
	*machine
	in     *Input
	opt    Options
	base   map[string]any
	faults []*Error
	broken map[string]bool // rules that failed once: told once

	last    *subject
	lastEnv map[string]any // of last: one map for all, a clone for each would be most of what a judgement costs
	changed []string       // names of lastEnv that are not as in base
	codes   codeSheets

	byFlow map[flow.ID]*subject
	byHost map[Side]map[netip.Addr]*subject
	all    *subject
}

// Diagnose names the causes of what was found, most serious first. It never
// fails as a whole: a rule that cannot be evaluated is left out and returned as a
// fault. The result depends on nothing but its arguments.
func (s *Set) Diagnose(in *Input, opt Options) ([]diagnosis.Diagnosis, []*Error) {
	j := &judge{
		Set: s, machine: newMachine(), in: in, opt: opt,
		broken: make(map[string]bool), byFlow: make(map[flow.ID]*subject),
		byHost: make(map[Side]map[netip.Addr]*subject), all: &subject{},
	}
	j.base = s.zeros(in)
	j.lastEnv = maps.Clone(j.base)
	j.codes = codeSheets{of: make(map[string]map[string]any), row: make(map[finding.Code]map[string]any)}
	j.gather()
	hits := j.hits()
	hits = subsume(hits)
	return j.fold(hits), j.faults
}

// gather sorts the findings to conversations, hosts and everything.
func (j *judge) gather() {
	seen := make(map[flow.ID]*conn.Summary)
	for i := range j.in.Findings {
		f := &j.in.Findings[i]
		if _, known := j.schema.defs[f.Code]; !known {
			continue
		}
		var c *conn.Summary
		if f.Flow.Valid() {
			var ok bool
			if c, ok = seen[f.Flow]; !ok {
				c = j.in.Connection(f.Flow)
				seen[f.Flow] = c
			}
			s := j.byFlow[f.Flow]
			if s == nil {
				s = &subject{id: f.Flow}
				j.byFlow[f.Flow] = s
			}
			s.add(i, c)
		}
		j.all.add(i, c)
		for _, by := range []Side{ByServer, ByClient, ByHost} {
			if a := hostOf(f, c, by); a.IsValid() {
				if j.byHost[by] == nil {
					j.byHost[by] = make(map[netip.Addr]*subject)
				}
				s := j.byHost[by][a]
				if s == nil {
					s = &subject{addr: a}
					j.byHost[by][a] = s
				}
				s.add(i, c)
			}
		}
	}
}

func (s *subject) add(i int, c *conn.Summary) {
	s.findings = append(s.findings, i)
	if c != nil && (len(s.conns) == 0 || s.conns[len(s.conns)-1] != c) {
		s.conns = append(s.conns, c)
	}
}

// unique leaves each conversation once, in the order of their numbers.
func (s *subject) unique() {
	slices.SortFunc(s.conns, func(a, b *conn.Summary) int { return compareIDs(a.ID, b.ID) })
	s.conns = slices.Compact(s.conns)
}

func hostOf(f *finding.Finding, c *conn.Summary, by Side) netip.Addr {
	switch {
	case by == ByHost && f.Host.IsValid(), c == nil:
		return f.Host
	case by == ByClient:
		return c.Client.Addr.Addr()
	default:
		return c.Server.Addr.Addr()
	}
}

// hits asks each rule that a finding wakes about each subject that has one, once.
func (j *judge) hits() []*hit {
	type question struct {
		rule *Rule
		sub  *subject
	}
	asked := make(map[question]bool)
	var out []*hit
	for i := range j.in.Findings {
		f := &j.in.Findings[i]
		for _, r := range j.wakes[f.Code] {
			sub := j.subject(r, f)
			q := question{r, sub}
			if sub == nil || asked[q] {
				continue
			}
			asked[q] = true
			if h := j.ask(r, sub); h != nil {
				out = append(out, h)
			}
		}
	}
	return out
}

func (j *judge) subject(r *Rule, f *finding.Finding) *subject {
	switch r.Scope {
	case Connection:
		if f.Flow.Valid() {
			return j.byFlow[f.Flow]
		}
		return nil
	case Host:
		var c *conn.Summary
		if f.Flow.Valid() {
			c = j.in.Connection(f.Flow)
		}
		if a := hostOf(f, c, r.By); a.IsValid() {
			return j.byHost[r.By][a]
		}
		return nil
	default:
		return j.all
	}
}

// env is the environment of a subject. That of the last one is kept: several
// rules ask about the same.
func (j *judge) env(sub *subject) map[string]any {
	if j.last != sub {
		j.last = sub
		j.fresh(sub)
	}
	return j.lastEnv
}

// fresh makes the environment that of another subject.
func (j *judge) fresh(sub *subject) {
	env := j.lastEnv
	for _, name := range j.changed {
		env[name] = j.base[name]
	}
	j.changed = append(j.changed[:0], nameConn, nameWorst)
	list := make([]*finding.Finding, len(sub.findings))
	for i, n := range sub.findings {
		list[i] = &j.in.Findings[n]
	}
	j.setCodes(env, list)
	if sub.id.Valid() {
		if len(sub.conns) > 0 {
			j.tables.setConn(env, sub.conns[0])
		}
		return
	}
	sub.unique()
	j.changed = append(j.changed, nameTotal, nameMost, nameHost, nameConns)
	if c := worstOf(sub.conns); c != nil {
		j.tables.setConn(env, c)
	}
	j.tables.setFigures(env, sub.conns)
	sf := subjectFacts{addr: sub.addr, conns: float64(len(sub.conns))}
	clients, servers, ports := map[netip.Addr]bool{}, map[netip.Addr]bool{}, map[uint16]bool{}
	for _, c := range sub.conns {
		clients[c.Client.Addr.Addr()], servers[c.Server.Addr.Addr()], ports[c.Server.Addr.Port()] = true, true, true
	}
	sf.clients, sf.servers, sf.ports = float64(len(clients)), float64(len(servers)), float64(len(ports))
	env[nameHost], env[nameConns] = row(hostFacts(), &sf), row(connsFacts(), &sf)
}

func worstOf(list []*conn.Summary) *conn.Summary {
	var worst *conn.Summary
	for _, c := range list {
		if worst == nil || c.Score > worst.Score {
			worst = c
		}
	}
	return worst
}

func (j *judge) fail(r *Rule, err error) {
	if !j.broken[r.ID] {
		j.broken[r.ID] = true
		j.faults = append(j.faults, &Error{Pos: r.Pos, Rule: r.ID, Message: fmt.Sprintf("cannot be evaluated: %v", err)})
	}
}

// ask evaluates a rule for a subject; nil when it does not hold.
func (j *judge) ask(r *Rule, sub *subject) *hit {
	if j.broken[r.ID] {
		return nil
	}
	env := j.env(sub)
	holds, err := j.truth(r.when, env)
	if err != nil {
		j.fail(r, err)
		return nil
	}
	if !holds {
		return nil
	}
	h := &hit{rule: r, sub: sub}
	if err := j.judgement(h, env); err != nil {
		j.fail(r, err)
		return nil
	}
	for _, n := range sub.findings {
		c := j.in.Findings[n].Code
		if slices.Contains(r.On, c) || slices.Contains(r.Explains, c) {
			h.evidence = append(h.evidence, n)
		}
	}
	h.conns = j.concerned(h)
	return h
}

func (j *judge) judgement(h *hit, env map[string]any) error {
	c, err := j.choose(&h.rule.culprit, env, culpritNames())
	if err != nil {
		return fmt.Errorf("culprit: %w", err)
	}
	h.culprit = diagnosis.Culprit(c)
	sev, err := j.choose(&h.rule.severity, env, severityNames())
	if err != nil {
		return fmt.Errorf("severity: %w", err)
	}
	var known bool
	if h.severity, known = finding.ParseSeverity(sev); !known {
		return fmt.Errorf("severity: %q is none", sev)
	}
	if h.confidence, err = j.number(h.rule.confidence, env); err != nil {
		return fmt.Errorf("confidence: %w", err)
	}
	if h.stalled, err = j.number(h.rule.stalled, env); err != nil {
		return fmt.Errorf("stalled_seconds: %w", err)
	}
	if h.failed, err = j.number(h.rule.failed, env); err != nil {
		return fmt.Errorf("failed: %w", err)
	}
	return nil
}

// choose evaluates a choice; in its expression the names stand for themselves
// (they are in every environment, but for "host", which is a name of its own).
func (m *machine) choose(c *choice, env map[string]any, names []string) (string, error) {
	if c.expr == nil {
		return c.fixed, nil
	}
	host := env[nameHost]
	env[nameHost] = nameHost
	v, err := m.run(c.expr, env)
	env[nameHost] = host
	if err != nil {
		return "", err
	}
	s, _ := v.(string)
	if !slices.Contains(names, s) {
		return "", fmt.Errorf("%q is none of its names", s)
	}
	return s, nil
}

// concerned are the conversations of the findings that prove a hit, worst first.
func (j *judge) concerned(h *hit) []*conn.Summary {
	if h.rule.Scope == Connection {
		return h.sub.conns
	}
	var out []*conn.Summary
	for _, n := range h.evidence {
		if id := j.in.Findings[n].Flow; id.Valid() {
			if c := j.in.Connection(id); c != nil {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b *conn.Summary) int { return compareIDs(a.ID, b.ID) })
	return slices.Compact(out)
}
