package rules

import (
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/expr-lang/expr/vm"

	"netwhy/analyze/finding"
	"netwhy/analyze/hosts"
	"netwhy/rules/diagnosis"
)

// machine evaluates programs. It is one goroutine's.
type machine struct{ vm vm.VM }

func newMachine() *machine { return &machine{vm: vm.VM{MemoryBudget: memoryBudget}} }

// woven is the closure of a program, where that can be used.
func woven(p *program, v *view) *closure {
	if v.given != nil {
		return nil
	}
	return p.closure()
}

func (m *machine) run(p *program, v *view) (any, error) {
	code, err := p.ready()
	if err != nil {
		return nil, err
	}
	return m.vm.Run(code, v.env())
}

// truth evaluates a condition.
func (m *machine) truth(p *program, v *view) (bool, error) {
	if c := woven(p, v); c != nil {
		return c.truth(v), nil
	}
	x, err := m.run(p, v)
	b, _ := x.(bool)
	return b, err
}

func (m *machine) number(p *program, v *view) (float64, error) {
	if p == nil {
		return 0, nil
	}
	if c := woven(p, v); c != nil {
		return c.num(v), nil
	}
	x, err := m.run(p, v)
	if err != nil {
		return 0, err
	}
	return number(x), nil
}

// shown evaluates an expression of a text.
func (m *machine) shown(p *program, v *view) (string, error) {
	if c := woven(p, v); c != nil {
		return c.show(v), nil
	}
	x, err := m.run(p, v)
	if err != nil {
		return "", err
	}
	s, ok := show(x)
	if !ok {
		return "", fmt.Errorf("%T cannot be shown", x)
	}
	return s, nil
}

// choose evaluates a choice; in its expression the names stand for themselves
// (they are in every environment, but for "host", which is a name of its own).
func (m *machine) choose(c *choice, v *view, names []string) (string, error) {
	if c.expr == nil {
		return c.fixed, nil
	}
	var s string
	if w := woven(c.expr, v); w != nil {
		s = w.text(v)
	} else {
		env := v.env()
		host := env[nameHost]
		env[nameHost] = nameHost
		x, err := m.run(c.expr, v)
		env[nameHost] = host
		if err != nil {
			return "", err
		}
		s, _ = x.(string)
	}
	if !slices.Contains(names, s) {
		return "", fmt.Errorf("%q is none of its names", s)
	}
	return s, nil
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
	conns      []*talk
	absorbed   []*hit // effects that it explains
	into       *hit   // the cause that explains this one
}

// judge is one run of the engine.
type judge struct {
	*Set
	in     *Input
	opt    Options
	faults []*Error
	broken map[string]bool // rules that failed once: told once
	bits   []uint64        // room of subjects
	seeds  hosts.Numbers
	subjects
}

// Diagnose names the causes of what was found, most serious first. It never
// fails as a whole: a rule that cannot be evaluated is left out and returned as a
// fault. The result depends on nothing but its arguments.
func (s *Set) Diagnose(in *Input, opt Options) ([]diagnosis.Diagnosis, []*Error) {
	s, faults := s.awake(in)
	j := &judge{Set: s, in: in, opt: opt, broken: make(map[string]bool), faults: faults}
	j.gather(s, in)
	said := j.fold(subsume(j.hits()))
	return said, j.faults
}

// question is a rule that is asked about a subject.
type question struct {
	rule *Rule
	sub  *subject
	next int // the subject's next question; -1: none
	hit  *hit
}

// questions are the rules that the findings wake, each asked once about each
// subject that has one, in the order of the findings. The subjects come in the
// order of their first question.
func (j *judge) questions() ([]question, []*subject) {
	most := 0
	for _, n := range j.codes {
		if n >= 0 {
			most += len(j.wakes[n])
		}
	}
	list := make([]question, 0, most)
	about := make([]*subject, 0, len(j.talks))
	for i, n := range j.codes {
		if n < 0 {
			continue
		}
		for _, r := range j.wakes[n] {
			sub := j.subject(r, i)
			if sub == nil || j.asked(r, sub) {
				continue
			}
			if sub.first < 0 {
				sub.first = len(list)
				about = append(about, sub)
			} else {
				list[sub.last].next = len(list)
			}
			sub.last = len(list)
			list = append(list, question{rule: r, sub: sub, next: -1})
		}
	}
	return list, about
}

const (
	// atOnce is how many subjects a worker takes at a time: enough that taking them
	// costs nothing, few enough that none waits for another's.
	atOnce = 64
	// worthWorkers is the number of subjects from which on a second worker pays.
	worthWorkers = 256
	// worthWriters is that of texts.
	worthWriters = 16
)

// hits asks each rule that a finding wakes about each subject that has one, once.
// Subjects have nothing to do with each other: they are judged by several workers,
// and what they say is put in the order of the questions.
func (j *judge) hits() []*hit {
	list, about := j.questions()
	workers := 1
	if len(about) >= worthWorkers {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var faults faultsOf
	work := func() {
		a := asker{machine: newMachine(), view: newView(j.Set, j.in, j.codes), subjects: &j.subjects, culprits: culpritNames(), severities: severityNames()}
		for {
			from := int(next.Add(atOnce)) - atOnce
			if from >= len(about) {
				return
			}
			for _, sub := range about[from:min(from+atOnce, len(about))] {
				for n := sub.first; n >= 0; n = list[n].next {
					var err error
					if list[n].hit, err = a.ask(list[n].rule, sub); err != nil {
						faults.add(n, err)
					}
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return j.answers(list, faults.of)
}

// faultsOf are the questions that could not be answered.
type faultsOf struct {
	mu sync.Mutex
	of map[int]error
}

func (f *faultsOf) add(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = make(map[int]error)
	}
	f.of[n] = err
}

// answers are the hits, in the order of the questions. A rule is left out from its
// first failure on.
func (j *judge) answers(list []question, faults map[int]error) []*hit {
	n := 0
	for i := range list {
		if list[i].hit != nil {
			n++
		}
	}
	out := make([]*hit, 0, n)
	for i := range list {
		q := &list[i]
		switch {
		case j.broken[q.rule.ID]:
		case faults[i] != nil:
			j.fail(q.rule, faults[i])
		case q.hit != nil:
			out = append(out, q.hit)
		}
	}
	return append(out, j.likely(list, out)...)
}

// likely are the hits of rules that ask for more than is kept of a forgotten
// conversation: one is taken to be as others of the same party are, and what has no
// such others is not judged.
func (j *judge) likely(list []question, sure []*hit) []*hit {
	unsure := func(q *question) bool { return !q.rule.brief && q.sub.brief != nil && !j.broken[q.rule.ID] }
	wanted := make(map[diagnosis.Cause]bool)
	for i := range list {
		if unsure(&list[i]) {
			wanted[list[i].rule.Cause] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	known := make(map[groupKey]*hit)
	for _, h := range sure {
		if h.rule.Scope != Connection || !wanted[h.rule.Cause] {
			continue
		}
		if k := h.party(); k.own == nil && known[k] == nil {
			known[k] = h
		}
	}
	var out []*hit
	for i := range list {
		q := &list[i]
		if !unsure(q) {
			continue
		}
		h := &hit{rule: q.rule, sub: q.sub, conns: q.sub.conns}
		like := known[h.party()]
		if like == nil {
			continue
		}
		h.culprit, h.severity, h.confidence = like.culprit, like.severity, like.confidence
		h.evidence = q.sub.proving(q.rule, j.in)
		out = append(out, h)
	}
	return out
}

func (j *judge) fail(r *Rule, err error) {
	if !j.broken[r.ID] {
		j.broken[r.ID] = true
		j.faults = append(j.faults, &Error{Pos: r.Pos, Rule: r.ID, Message: fmt.Sprintf("cannot be evaluated: %v", err)})
	}
}

// asker asks rules about subjects. It is one goroutine's.
type asker struct {
	*machine
	*subjects
	view                 *view
	spare                []hit
	culprits, severities []string
}

// ask evaluates a rule for a subject; nil when it does not hold, or when too little
// is known of the subject.
func (a *asker) ask(r *Rule, sub *subject) (*hit, error) {
	if sub.brief != nil && !r.brief {
		return nil, nil //nolint:nilnil // neither a hit nor a fault
	}
	if !sub.id.Valid() && !sub.complete {
		sub.conns, sub.complete = a.concerned(sub.findings), true
	}
	a.view.look(sub)
	holds, err := a.truth(r.when, a.view)
	if err != nil || !holds {
		return nil, err
	}
	const atOnce = 64
	if len(a.spare) == 0 {
		a.spare = make([]hit, atOnce)
	}
	h := &a.spare[0]
	h.rule, h.sub = r, sub
	if err := a.judgement(h); err != nil {
		*h = hit{}
		return nil, err
	}
	a.spare = a.spare[1:]
	h.evidence = sub.proving(r, a.view.in)
	h.conns = sub.conns
	if len(h.evidence) < len(sub.findings) && r.Scope != Connection {
		h.conns = a.concerned(h.evidence)
	}
	return h, nil
}

func (a *asker) judgement(h *hit) error {
	c, err := a.choose(&h.rule.culprit, a.view, a.culprits)
	if err != nil {
		return fmt.Errorf("culprit: %w", err)
	}
	h.culprit = diagnosis.Culprit(c)
	sev, err := a.choose(&h.rule.severity, a.view, a.severities)
	if err != nil {
		return fmt.Errorf("severity: %w", err)
	}
	var known bool
	if h.severity, known = finding.ParseSeverity(sev); !known {
		return fmt.Errorf("severity: %q is none", sev)
	}
	if h.confidence, err = a.number(h.rule.confidence, a.view); err != nil {
		return fmt.Errorf("confidence: %w", err)
	}
	if h.stalled, err = a.number(h.rule.stalled, a.view); err != nil {
		return fmt.Errorf("stalled_seconds: %w", err)
	}
	if h.failed, err = a.number(h.rule.failed, a.view); err != nil {
		return fmt.Errorf("failed: %w", err)
	}
	return nil
}

// subject is the one that a rule is asked about for a finding; nil: none.
func (s *subjects) subject(r *Rule, i int) *subject {
	switch r.Scope {
	case Connection:
		return s.flows[i]
	case Host:
		return s.hosts[r.By][i]
	default:
		return s.all
	}
}

func hostOf(f *finding.Finding, t *talk, by Side) netip.Addr {
	switch {
	case by == ByHost && f.Host.IsValid(), t == nil:
		return f.Host
	case by == ByClient:
		return t.client.Addr()
	default:
		return t.server.Addr()
	}
}
