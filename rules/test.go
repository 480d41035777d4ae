package rules

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
)

// Runner analyses one capture and judges it: the caller knows how files are read.
type Runner func(ctx context.Context, name string) ([]diagnosis.Diagnosis, error)

// Case is what was said of one labelled capture.
type Case struct {
	Label
	Said     []diagnosis.Diagnosis
	Err      error // it could not be read: counts as nothing said
	First    bool  // an accepted cause was named first
	Three    bool  // an accepted cause was among the first three
	Party    bool  // ... and that diagnosis names the right culprit
	FalseSet []diagnosis.Cause
}

// Said first, or what stands for it.
func (c *Case) named() string {
	switch {
	case c.Err != nil:
		return "(error)"
	case len(c.Said) == 0:
		return "(nothing)"
	default:
		return string(c.Said[0].Cause)
	}
}

// Score is the sum over labelled captures.
type Score struct {
	Cases       []Case
	Faulty      int // captures with a fault
	First       int // of these, cause named first
	Three       int // cause among the first three
	Party       int // right culprit, of those in Three
	Healthy     int // captures without a fault
	FalseAlarms int // of these, with a diagnosis of warning or above
}

// Test judges labelled captures and adds up. It ends early only with the
// context; a capture that cannot be read is a case with an error.
func Test(ctx context.Context, labels []Label, run Runner) (*Score, error) {
	s := &Score{}
	for _, l := range labels {
		if err := context.Cause(ctx); err != nil {
			return s, err
		}
		c := Case{Label: l}
		c.Said, c.Err = run(ctx, l.Name)
		c.judge()
		s.add(&c)
	}
	return s, nil
}

func (c *Case) judge() {
	if c.Cause == Healthy {
		for i := range c.Said {
			if c.Said[i].Severity >= finding.Warning {
				c.FalseSet = append(c.FalseSet, c.Said[i].Cause)
			}
		}
		return
	}
	for i := range min(len(c.Said), 3) {
		d := &c.Said[i]
		if !c.accepts(d.Cause) {
			continue
		}
		c.First, c.Three = c.First || i == 0, true
		c.Party = c.Party || c.Culprit == "" || d.Culprit == c.Culprit
		break
	}
}

func (s *Score) add(c *Case) {
	s.Cases = append(s.Cases, *c)
	if c.Cause == Healthy {
		s.Healthy++
		if len(c.FalseSet) > 0 || c.Err != nil {
			s.FalseAlarms++
		}
		return
	}
	s.Faulty++
	for _, v := range []struct {
		yes bool
		n   *int
	}{{c.First, &s.First}, {c.Three, &s.Three}, {c.Party, &s.Party}} {
		if v.yes {
			*v.n++
		}
	}
}

// WriteTo prints the confusion table: a line for each cause, then each capture
// that was not judged as labelled, then the sums.
func (s *Score) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	s.table(&b)
	s.misses(&b)
	fmt.Fprintf(&b, "\ncause first  %s\nin first 3   %s\nculprit      %s\nfalse alarms %d of %d healthy captures\n",
		share(s.First, s.Faulty), share(s.Three, s.Faulty), share(s.Party, s.Three), s.FalseAlarms, s.Healthy)
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

func share(n, of int) string {
	if of == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", n, of, 100*float64(n)/float64(of))
}

// tally is one line of the table.
type tally struct {
	cause                diagnosis.Cause
	n, first, three, who int
	named                map[string]int
}

func (s *Score) table(b *strings.Builder) {
	by := make(map[diagnosis.Cause]*tally)
	for i := range s.Cases {
		c := &s.Cases[i]
		t := by[c.Cause]
		if t == nil {
			t = &tally{cause: c.Cause, named: make(map[string]int)}
			by[c.Cause] = t
		}
		t.n++
		right := c.First
		if c.Cause == Healthy {
			right = len(c.FalseSet) == 0 && c.Err == nil
			c.Three, c.Party = right, right
		}
		for _, v := range []struct {
			yes bool
			n   *int
		}{{right, &t.first}, {c.Three, &t.three}, {c.Party, &t.who}} {
			if v.yes {
				*v.n++
			}
		}
		switch {
		case right:
		case c.Cause == Healthy && len(c.FalseSet) > 0:
			t.named[string(c.FalseSet[0])]++
		default:
			t.named[c.named()]++
		}
	}
	lines := make([]*tally, 0, len(by))
	for _, t := range by {
		lines = append(lines, t)
	}
	slices.SortFunc(lines, func(a, b *tally) int { return cmp.Compare(a.cause, b.cause) })
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "cause\tcaptures\tfirst\tin 3\tculprit\tnamed instead")
	for _, t := range lines {
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%s\n", t.cause, t.n, t.first, t.three, t.who, counted(t.named))
	}
	_ = tw.Flush() // a strings.Builder takes all
}

func counted(m map[string]int) string {
	out := make([]string, 0, len(m))
	for k, n := range m {
		out = append(out, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (s *Score) misses(b *strings.Builder) {
	for i := range s.Cases {
		c := &s.Cases[i]
		switch {
		case c.Err != nil:
			fmt.Fprintf(b, "\n%s: %s: %v", c.Name, c.Cause, c.Err)
		case len(c.FalseSet) > 0:
			fmt.Fprintf(b, "\n%s: healthy, but said %s", c.Name, joined3(c.Said))
		case c.Cause != Healthy && !c.First:
			fmt.Fprintf(b, "\n%s: %s, but said %s", c.Name, c.Cause, joined3(c.Said))
		case c.Cause != Healthy && !c.Party:
			fmt.Fprintf(b, "\n%s: %s of the %s, but said %s", c.Name, c.Cause, c.Culprit, joined3(c.Said))
		default:
			continue
		}
	}
	b.WriteString("\n")
}

// joined3 is the first three diagnoses in short.
func joined3(said []diagnosis.Diagnosis) string {
	if len(said) == 0 {
		return "nothing"
	}
	var out []string
	for i := range min(len(said), 3) {
		out = append(out, fmt.Sprintf("%s (%s, %s)", said[i].Cause, said[i].Culprit, said[i].Severity))
	}
	return strings.Join(out, ", ")
}

// Expectation is a capture that a rule names as its test.
type Expectation struct {
	Rule  *Rule
	File  string // as written, relative to the rule file or the fixtures
	Fires bool   // the rule's cause has to be named; else nothing of warning or above by this rule
}

// Expectations are the fires and silent of the rules.
func (s *Set) Expectations() (out []Expectation) {
	for _, r := range s.all().rules {
		for _, f := range r.Fires {
			out = append(out, Expectation{Rule: r, File: f, Fires: true})
		}
		for _, f := range r.Silent {
			out = append(out, Expectation{Rule: r, File: f})
		}
	}
	return out
}

// Meets reports whether what was said of the expectation's capture is as the
// rule promises.
func (e *Expectation) Meets(said []diagnosis.Diagnosis) error {
	i := slices.IndexFunc(said, func(d diagnosis.Diagnosis) bool {
		return d.Cause == e.Rule.Cause && (e.Fires || d.Severity >= finding.Warning)
	})
	switch {
	case e.Fires && i < 0:
		return fmt.Errorf("rule %s: %s should show %s, but was said to show %s", e.Rule.ID, e.File, e.Rule.Cause, joined3(said))
	case !e.Fires && i >= 0:
		return fmt.Errorf("rule %s: %s should be silent, but was said to show %s", e.Rule.ID, e.File, joined3(said))
	default:
		return nil
	}
}
