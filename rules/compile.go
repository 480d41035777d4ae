package rules

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	functions "github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/optimizer"
	"github.com/expr-lang/expr/vm"
)

// Functions of the language: letters of a text counted, in lower, in upper case.
const (
	nameLen   = "len"
	nameLower = "lower"
	nameUpper = "upper"
)

// Bounds of one expression. The longest rule built in has some 60 nodes.
const (
	maxNodes     = 200
	memoryBudget = 10_000 // elements that one evaluation may make
)

// allowed are the builtins of the language that a rule may call. What is absent
// is so on purpose: now and date (a rule would depend on the clock), repeat,
// toJSON and split (memory), get and the like (names unchecked).
func allowed() []string {
	return []string{
		"any", "all", "none", "one", "count", "filter", "map", "sum", "min", "max",
		"abs", "round", nameLen, nameLower, nameUpper,
	}
}

// program is an expression and the names it reads. It is compiled when it is first
// evaluated, if it is known to be right: a run asks a few of a thousand.
type program struct {
	expression
	uses map[string]bool // dotted: conn.client.mss

	later bool // code and err are there after once
	once  sync.Once
	code  *vm.Program
	err   error

	weaving sync.Once
	woven   closure
}

// expression is what is written, and for where.
type expression struct {
	src     scalar
	env     *environment
	want    reflect.Kind // reflect.Invalid: any that can be shown
	lang    string       // of a text; empty: not one
	command bool         // a text for the shell
}

// postpone makes a program of an expression that is known to compile. Which names
// it reads is told from its words: some too many do no harm.
func postpone(x *expression) *program {
	p := &program{expression: *x, later: true}
	if x.lang == "" { // nobody asks what texts read
		p.uses = mentioned(x.src.text)
	}
	return p
}

// ready returns the code for the machine.
func (p *program) ready() (*vm.Program, error) {
	if !p.later {
		return p.code, nil
	}
	p.once.Do(func() {
		done, faults := compile(&p.expression)
		if len(faults) > 0 {
			p.err = faults[0]
			return
		}
		p.code = done.code
	})
	return p.code, p.err
}

// closure returns the expression as functions; nil: only the machine can.
func (p *program) closure() *closure {
	p.weaving.Do(func() {
		w := weaver{env: p.env, lang: p.lang, command: p.command}
		if c, ok := w.weave(p.src.text); ok && (p.want == reflect.Invalid || p.want == c.kind()) {
			p.woven = c
		}
	})
	if p.woven.kind() == reflect.Invalid {
		return nil
	}
	return &p.woven
}

// mentioned are the names in a text, with what is dotted to them: a, a.b, a.b.c.
func mentioned(text string) map[string]bool {
	uses := make(map[string]bool)
	word := func(c byte) bool {
		return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	}
	for i := 0; i < len(text); i++ {
		if !word(text[i]) {
			continue
		}
		start := i
		for ; i < len(text) && (word(text[i]) || text[i] == '.' && i+1 < len(text) && word(text[i+1])); i++ {
			if text[i] == '.' {
				uses[text[start:i]] = true
			}
		}
		uses[text[start:i]] = true
	}
	return uses
}

// compile checks and compiles one expression. The faults are in the place of the
// expression, each with the caret or the near name.
func compile(x *expression) (*program, []*Error) {
	src, env := x.src, x.env
	g := &guard{uses: make(map[string]bool)}
	opts := []expr.Option{
		env.option(), expr.MaxNodes(maxNodes), expr.Patch(g),
		expr.Function("ratio", ratio, new(func(float64, float64) float64)),
	}
	switch x.want { //nolint:exhaustive // the kinds that rules have
	case reflect.Bool:
		opts = append(opts, expr.AsBool(), expr.WarnOnAny())
	case reflect.Float64:
		opts = append(opts, expr.AsFloat64(), expr.WarnOnAny())
	case reflect.String:
		opts = append(opts, expr.AsKind(reflect.String), expr.WarnOnAny())
	}
	if x.lang != "" {
		opts = append(opts, helpers(x.lang, x.command)...)
	}
	code, err := env.compile(src.text, opts)
	var list []*Error
	for _, f := range g.faults {
		line, col := place(src.text, f.at.From)
		list = append(list, &Error{Pos: src.within(line, col), Message: f.text, Hint: caret(src, line, col)})
	}
	if err != nil && len(list) == 0 {
		list = append(list, compileError(src, env, err))
	}
	if len(list) > 0 {
		return nil, list
	}
	return &program{expression: *x, code: code, uses: g.uses}, nil
}

// compile is expr.Compile without its table of builtins, which that makes anew and
// cuts down again for each expression: half the time of a load (measured).
func (e *environment) compile(text string, opts []expr.Option) (*vm.Program, error) {
	e.ready()
	c := &conf.Config{
		Optimize: true, ShortCircuit: true, Functions: make(conf.FunctionsTable),
		ConstFns: make(map[string]reflect.Value), Builtins: e.builtins, Disabled: e.disabled,
	}
	for _, o := range opts {
		o(c)
	}
	c.Check()
	tree, err := checker.ParseCheck(text, c)
	if err != nil {
		return nil, err
	}
	if err := optimizer.Optimize(&tree.Node, c); err != nil {
		if at, ok := errors.AsType[*file.Error](err); ok {
			return nil, at.Bind(tree.Source)
		}
		return nil, err
	}
	return compiler.Compile(tree, c)
}

// builtins are the functions of the language that may be called, and the names of
// all others.
func builtins() (may conf.FunctionsTable, not map[string]bool) {
	may, not = make(conf.FunctionsTable), make(map[string]bool)
	for _, f := range functions.Builtins {
		if slices.Contains(allowed(), f.Name) {
			may[f.Name] = f
		} else {
			not[f.Name] = true
		}
	}
	return may, not
}

// compileError turns the library's message into ours: with the place in the rule
// file and the near name.
func compileError(src scalar, env *environment, err error) *Error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return &Error{Pos: src.pos, Message: err.Error()}
	}
	e := &Error{Pos: src.within(max(fe.Line, 1), fe.Column+1), Message: fe.Message}
	if m := unknownName.FindStringSubmatch(fe.Message); m != nil {
		e.Message = fmt.Sprintf("unknown name %q", m[1])
		e.Hint = hint(env.types, m[1])
		if fe.Message == "unknown name "+m[1] {
			e.root = m[1]
		}
	}
	if e.Hint == "" {
		e.Hint = caret(src, max(fe.Line, 1), fe.Column+1)
	}
	return e
}

// unknownName matches what expr says of names that the environment lacks.
var unknownName = regexp.MustCompile(`^(?:unknown (?:name|field) |type .* has no (?:field|method) |cannot fetch )"?([A-Za-z0-9_]+)"?`)

// place is the line and column, from 1, of the rune at an offset.
func place(text string, offset int) (line, column int) {
	line, column = 1, 1
	for i, r := range []rune(text) {
		if i == offset {
			break
		}
		column++
		if r == '\n' {
			line++
			column = 1
		}
	}
	return line, column
}

// caret shows a line of the expression and the place of the fault below it.
func caret(src scalar, line, column int) string {
	lines := strings.Split(src.text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	shown := strings.ReplaceAll(lines[line-1], "\t", " ")
	return "\n    " + shown + "\n    " + strings.Repeat(" ", min(column-1, len(shown))) + "^"
}

// guard walks the syntax tree: it refuses what the language allows and rules may
// not, and notes the names read.
type guard struct {
	uses   map[string]bool
	faults []guardFault
}

type guardFault struct {
	at   file.Location
	text string
}

func (g *guard) refuse(n ast.Node, why string) {
	g.faults = append(g.faults, guardFault{at: n.Location(), text: why})
}

// Visit is called for each node, children first.
func (g *guard) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		g.binary(n)
	case *ast.IdentifierNode:
		if n.Value == "$env" {
			g.refuse(n, "$env is not allowed; name what is meant")
		}
		g.uses[n.Value] = true
	case *ast.MemberNode:
		switch n.Property.(type) {
		case *ast.StringNode:
			if path, ok := dotted(n); ok {
				g.uses[path] = true
			}
		case *ast.IntegerNode:
		default:
			g.refuse(n, "an index has to be a constant: names are checked when the rule is loaded")
		}
	case *ast.ConditionalNode:
		// "x ? 0.2 : 0" is a number: expr holds its two kinds apart.
		n.Exp1, n.Exp2 = float(n.Exp1), float(n.Exp2)
	case *ast.PredicateNode:
		if nested(n) {
			g.refuse(n, "a loop inside a loop is not allowed")
		}
	case *ast.CallNode:
		if _, named := n.Callee.(*ast.IdentifierNode); !named {
			g.refuse(n, "only functions can be called")
		}
	}
}

func (g *guard) binary(n *ast.BinaryNode) {
	switch n.Operator {
	case "..":
		g.refuse(n, "ranges are not allowed in rules")
	case "/", "%":
		if !nonZero(n.Right) {
			g.refuse(n, "the divisor may be 0; write ratio(a, b), which is 0 then")
		}
	case "matches":
		if _, constant := n.Right.(*ast.StringNode); !constant {
			g.refuse(n, "the pattern of matches has to be a constant text")
		}
	}
}

func float(n ast.Node) ast.Node {
	if i, ok := n.(*ast.IntegerNode); ok {
		f := &ast.FloatNode{Value: float64(i.Value)}
		f.SetLocation(i.Location())
		return f
	}
	return n
}

func nonZero(n ast.Node) bool {
	switch v := n.(type) {
	case *ast.IntegerNode:
		return v.Value != 0
	case *ast.FloatNode:
		return v.Value != 0
	default:
		return false
	}
}

func dotted(n *ast.MemberNode) (string, bool) {
	p, ok := n.Property.(*ast.StringNode)
	if !ok {
		return "", false
	}
	switch v := n.Node.(type) {
	case *ast.IdentifierNode:
		return v.Value + "." + p.Value, true
	case *ast.MemberNode:
		head, ok := dotted(v)
		return head + "." + p.Value, ok
	default:
		return "", false
	}
}

// nested reports whether a predicate holds another one.
func nested(p *ast.PredicateNode) bool {
	f := &finder{}
	body := p.Node
	ast.Walk(&body, f)
	return f.found
}

type finder struct{ found bool }

// Visit notes whether the node is a predicate.
func (f *finder) Visit(node *ast.Node) {
	if _, ok := (*node).(*ast.PredicateNode); ok {
		f.found = true
	}
}

// ratio is a/b, and 0 where b is 0: with +Inf a threshold would be met by a
// division by nothing.
func ratio(params ...any) (any, error) {
	return quotient(number(params[0]), number(params[1])), nil
}

func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// number makes one kind of number of those that the language has.
func number(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case int:
		return float64(n)
	default:
		return math.NaN()
	}
}

// literals returns the texts that an expression can have as its value, as far as
// they stand in it: for the check of culprits and severities.
func (p *program) names(known []string) (out []string) {
	for _, k := range known {
		if p.uses[k] {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}
