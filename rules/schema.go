package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/checker/nature"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/types"

	"netwhy/analyze/finding"
	"netwhy/rules/diagnosis"
	"netwhy/rules/near"
)

// Names of the environment that are no code's family.
const (
	nameConn    = "conn"
	nameClient  = "client"
	nameServer  = "server"
	nameWorst   = "worst"
	nameTrust   = "trust"
	nameCapture = "capture"
	nameHost    = "host"
	nameConns   = "conns"
	nameTotal   = "total"
	nameMost    = "most"
	nameReach   = "reach"
	nameCulprit = "culprit"
	nameParty   = "party"
	namePackets = "packets"
	nameBytes   = "bytes"
	nameFailed  = "failed"
	nameAddr    = "addr"
	nameClients = "clients"
	nameServers = "servers"
)

// schema is what expressions can name, with types: the codes' Defs and the
// tables of facts.go. It does not change after newSchema.
type schema struct {
	defs   map[finding.Code]*finding.Def
	codes  []string             // sorted
	number map[finding.Code]int // place in codes
	order  []*finding.Def       // as codes
	// families: first part of a code, and in it the rest, as names
	families map[string]map[string]*finding.Def
	made     map[purpose]*environment // while loading
}

func newSchema(defs []finding.Def) *schema {
	s := &schema{defs: make(map[finding.Code]*finding.Def, len(defs)), families: make(map[string]map[string]*finding.Def), made: make(map[purpose]*environment)}
	for i := range defs {
		d := &defs[i]
		if _, twice := s.defs[d.Code]; twice {
			continue
		}
		s.defs[d.Code] = d
		s.codes = append(s.codes, string(d.Code))
		family, name := split(d.Code)
		if s.families[family] == nil {
			s.families[family] = make(map[string]*finding.Def)
		}
		s.families[family][name] = d
	}
	slices.Sort(s.codes)
	s.number = make(map[finding.Code]int, len(s.codes))
	for i, c := range s.codes {
		s.number[finding.Code(c)] = i
		s.order = append(s.order, s.defs[finding.Code(c)])
	}
	return s
}

// split makes the two names of an expression from a code: "tcp.zero-window" is
// tcp and zero_window.
func split(c finding.Code) (family, name string) {
	family, name, _ = strings.Cut(string(c), ".")
	return strings.ReplaceAll(family, "-", "_"), strings.ReplaceAll(name, "-", "_")
}

// use says what kind of expression an environment is for: each kind has a few
// names more than the condition.
type use uint8

const (
	forCondition use = iota
	forCulprit       // the culprits are names of themselves
	forSeverity      // the severities are
	forText          // culprit, party and reach are known
)

// environment is what an expression can name. It is made once for each scope and
// use: making the library's description of it anew for each of a thousand
// expressions was nine tenths of the time and memory of a load (measured: 1.49 s
// and 659 MB, now 0.14 s and 56 MB).
type environment struct {
	schema   *schema
	scope    Scope
	use      use
	once     sync.Once
	types    types.Map
	nature   nature.Nature
	builtins conf.FunctionsTable
	disabled map[string]bool
}

// ready makes the description, for the first expression that needs it.
func (e *environment) ready() {
	e.once.Do(func() {
		e.types = e.schema.names(e.scope, e.use)
		e.nature = e.types.Nature()
		e.builtins, e.disabled = builtins()
	})
}

// option is expr.Env with the description that is there already.
func (e *environment) option() expr.Option {
	return func(c *conf.Config) { c.EnvObject, c.Env, c.Strict = e.types, e.nature, e.nature.Strict }
}

// purpose tells environments apart.
type purpose struct {
	scope Scope
	use   use
}

// types returns the environment for one scope and use. It is for loading, which
// one goroutine does.
func (s *schema) types(scope Scope, u use) *environment {
	key := purpose{scope, u}
	if e, ok := s.made[key]; ok {
		return e
	}
	e := &environment{schema: s, scope: scope, use: u}
	s.made[key] = e
	return e
}

// names are the environment's names and types.
func (s *schema) names(scope Scope, u use) types.Map {
	env := types.Map{
		nameTrust:   mapOf(trustFacts()),
		nameCapture: mapOf(captureFacts()),
		nameWorst:   mapOf(worstFacts()),
	}
	c := mapOf(connFacts())
	c[nameClient], c[nameServer] = mapOf(sideFacts()), mapOf(sideFacts())
	env[nameConn] = c
	if scope != Connection {
		env[nameHost] = mapOf(hostFacts())
		env[nameConns] = mapOf(connsFacts())
		env[nameTotal], env[nameMost] = figures(), figures()
	}
	for family, codes := range s.families {
		m := types.Map{}
		for name, d := range codes {
			m[name] = codeTypes(d)
		}
		env[family] = m
	}
	switch u {
	case forCulprit:
		for _, c := range culpritNames() {
			env[c] = types.String
		}
	case forSeverity:
		for _, v := range severityNames() {
			env[v] = types.String
		}
	case forText:
		env[nameCulprit], env[nameParty] = types.String, types.String
		env[nameReach] = mapOf(reachFacts())
	case forCondition:
	}
	return env
}

func codeTypes(d *finding.Def) types.Map {
	m := types.Map{}
	for _, f := range []string{factCount, factFlows, factHosts, factFindings, factFirstFrame, factLastFrame, factSpan} {
		m[f] = types.Float64
	}
	for _, v := range d.Metrics {
		if v.Text {
			m[v.Name] = types.String
		} else {
			m[v.Name] = types.Float64
		}
	}
	return m
}

// figures is total.* and most.*: the numbers and truths of conn.*, the latter
// counted.
func figures() types.Map {
	m := types.Map{}
	numbers(connFacts(), m)
	c, s := types.Map{}, types.Map{}
	numbers(sideFacts(), c)
	numbers(sideFacts(), s)
	m[nameClient], m[nameServer] = c, s
	return m
}

func numbers[T any](facts []fact[T], into types.Map) {
	var zero T
	for _, f := range facts {
		if _, text := f.get(&zero).(string); !text {
			into[f.name] = types.Float64
		}
	}
}

func mapOf[T any](facts []fact[T]) types.Map {
	var zero T
	m := make(types.Map, len(facts)+2)
	for _, f := range facts {
		m[f.name] = types.TypeOf(f.get(&zero))
	}
	return m
}

// hint finds the near name for a name that the checker did not know.
func hint(env types.Map, wrong string) string {
	seen := map[string]bool{}
	collect(env, 0, seen)
	return near.Hint(wrong, near.Sorted(seen))
}

func collect(m types.Map, depth int, into map[string]bool) {
	for k, v := range m {
		into[k] = true
		if sub, ok := v.(types.Map); ok && depth < 3 {
			collect(sub, depth+1, into)
		}
	}
}

func culpritNames() []string {
	return []string{
		string(diagnosis.Client), string(diagnosis.Server), string(diagnosis.Network),
		string(diagnosis.Resolver), string(diagnosis.Host), string(diagnosis.None),
	}
}

func severityNames() (out []string) {
	for v := finding.Info; v <= finding.Critical; v++ {
		out = append(out, v.String())
	}
	return out
}
