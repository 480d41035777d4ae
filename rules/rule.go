package rules

import (
	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
)

// Scope is what a rule judges.
type Scope uint8

// Scopes: one conversation, one host with all that concerns it, or everything.
const (
	Connection Scope = iota
	Host
	Capture
)

func (s Scope) String() string { return scopeNames()[s] }

func scopeNames() []string { return []string{"connection", nameHost, nameCapture} }

// Side tells by which end conversations are gathered.
type Side uint8

// Ways to gather: connection rules fold their hits so, host rules make their
// hosts so.
const (
	ByServer Side = iota // address and port of the server
	ByClient             // address of the client
	ByHost               // the finding's own host, else the server's address
	ByPair               // addresses of both
	ByAll                // all in one
	ByNone               // each for itself

	sides = int(ByNone) + 1
)

func sideNames() []string { return []string{nameServer, nameClient, nameHost, "pair", "all", "none"} }

func (s Side) String() string { return sideNames()[s] }

// Relation is how near an effect has to be to its cause to be explained by it.
type Relation uint8

// Relations, nearest first.
const (
	SameConnection Relation = iota
	SamePair                // both addresses
	SameServer              // the effect's server is the cause's server, or its host
	SameClient              // the effect's client is the cause's client, or its host
	SameHost                // any end of the effect is the cause's host, or any of its ends
	Anywhere
)

func relationNames() []string {
	return []string{"connection", "pair", nameServer, nameClient, nameHost, nameCapture}
}

// Rule is one rule, loaded and compiled. It does not change and may be used by
// several goroutines.
type Rule struct {
	ID       string
	Cause    diagnosis.Cause
	Scope    Scope
	By       Side           // host scope: which hosts; connection scope: how hits are folded
	On       []finding.Code // what wakes the rule
	Explains []finding.Code // what it explains besides
	Subsumes []Subsumption
	When     string // the condition as written
	Why      string // the reason of its thresholds
	Distrust []Weakness
	Ledger   bool // the worst exchange's ledger belongs to the diagnosis
	Aside    bool // told for completeness: it ranks behind the others of its severity
	Refs     []string
	Fires    []string
	Silent   []string
	Builtin  bool
	Pos      Position

	when       *program
	culprit    choice
	severity   choice
	confidence *program
	stalled    *program // nil: 0
	failed     *program // nil: 0
	title      text
	explain    text
	remedies   []text
	rivals     []rival
	next       *next

	brief  bool // what is kept of a conversation in short is enough to judge
	number int  // place in the set
}

// Subsumption says of which causes' diagnoses this rule's cause is the reason.
type Subsumption struct {
	Cause diagnosis.Cause // or the id of a rule, where only one of a cause's is meant
	Where Relation
}

// choice is a name that is constant or chosen by an expression.
type choice struct {
	fixed string
	expr  *program
	names []string // all that it can be
}

// rival is another cause that comes to mind, and the fact that rules it out.
type rival struct {
	cause   diagnosis.Cause
	when    *program
	because text
}

// next is the command that would tell the remaining rivals apart.
type next struct {
	command text
	tells   text
}

// Culprits and Severities are those that the rule can name.
func (r *Rule) Culprits() []string { return r.culprit.all() }

// Severities are those that the rule can give.
func (r *Rule) Severities() []string { return r.severity.all() }

func (c *choice) all() []string {
	if c.expr == nil {
		return []string{c.fixed}
	}
	return c.names
}

// Title is the title as written, with its ${...}.
func (r *Rule) Title(lang string) string { return r.title.in(lang).src }

// Explanation is the explanation as written.
func (r *Rule) Explanation(lang string) string { return r.explain.in(lang).src }

// Remedies are the remedies as written.
func (r *Rule) Remedies(lang string) []string {
	out := make([]string, len(r.remedies))
	for i := range r.remedies {
		out[i] = r.remedies[i].in(lang).src
	}
	return out
}

// Rivals are the causes that the rule rules out where the facts allow it.
func (r *Rule) Rivals() []diagnosis.Cause {
	out := make([]diagnosis.Cause, len(r.rivals))
	for i := range r.rivals {
		out[i] = r.rivals[i].cause
	}
	return out
}
