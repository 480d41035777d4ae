package rules

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"netwhy/rules/near"
)

// maxFile bounds a rule file: a hundred rules take some 100 KB.
const maxFile = 1 << 20

// scalar is a value of a rule file with its place.
type scalar struct {
	text  string
	pos   Position
	block bool // written as | or >: only the line of pos is right
	set   bool
}

// within is the place of the rune at offset in the scalar's text.
func (s scalar) within(line, column int) Position {
	p := s.pos
	if s.block {
		p.Line += line - 1
		p.Column = 0
		return p
	}
	if line > 1 { // a text folded over lines: its columns are not ours
		p.Line += line - 1
		p.Column = 0
		return p
	}
	p.Column += column - 1
	return p
}

// reader walks the nodes of one file. Strict: what it does not know is a fault,
// and it goes on to the next, so that all faults of a file come at once. Anchors
// and aliases are refused: no rule needs them, and they can make a small file
// huge.
type reader struct {
	file   string
	below  int    // lines of the file above what is read
	rule   string // id of the rule at hand
	faults *faults
}

// documents parses a file; nil when it is no YAML.
func (r *reader) documents(data []byte) []ast.Node {
	if len(data) > maxFile {
		r.faults.add(Position{File: r.file}, "", "", "%d bytes, more than the %d that a rule file may have; split it", len(data), maxFile)
		return nil
	}
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		pos, text := Position{File: r.file}, err.Error()
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			text = ye.GetMessage()
			if t := ye.GetToken(); t != nil && t.Position != nil {
				pos.Line, pos.Column = r.below+t.Position.Line, t.Position.Column
			}
		}
		r.faults.add(pos, "", "", "not YAML: %s", text)
		return nil
	}
	var out []ast.Node
	for _, d := range f.Docs {
		if d != nil && d.Body != nil {
			if _, comment := d.Body.(*ast.CommentGroupNode); !comment {
				out = append(out, d.Body)
			}
		}
	}
	return out
}

func (r *reader) at(n ast.Node) Position {
	p := Position{File: r.file}
	if n == nil {
		return p
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		p.Line, p.Column = r.below+t.Position.Line, t.Position.Column
	}
	return p
}

func (r *reader) fault(n ast.Node, format string, args ...any) {
	r.faults.add(r.at(n), r.rule, "", format, args...)
}

// field is one key that a mapping may have.
type field struct {
	key  string
	read func(n ast.Node)
}

// mapping reads the keys of a mapping by the table.
func (r *reader) mapping(n ast.Node, what string, fields []field) bool {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		r.fault(n, "%s has to be keys and values, not %s", what, kindOf(n))
		return false
	}
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	seen := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		key := r.key(p)
		if seen[key] {
			r.fault(p.Key, "key %q stands here twice", key)
			continue
		}
		seen[key] = true
		found := false
		for _, f := range fields {
			if f.key == key {
				found = true
				f.read(p.Value)
			}
		}
		if !found {
			r.faults.add(r.at(p.Key), r.rule, near.Hint(key, known), "unknown key %q in %s", key, what)
		}
	}
	return true
}

// peek returns the text of one key of a mapping without judging anything.
func (r *reader) peek(n ast.Node, key string) string {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	}
	for _, p := range pairs {
		if r.key(p) == key {
			if s, ok := p.Value.(*ast.StringNode); ok {
				return s.Value
			}
		}
	}
	return ""
}

func (*reader) key(p *ast.MappingValueNode) string {
	if s, ok := p.Key.(*ast.StringNode); ok {
		return s.Value
	}
	if p.Key == nil || p.Key.GetToken() == nil {
		return ""
	}
	return p.Key.GetToken().Value
}

// scalar reads a string, number or boolean as text.
func (r *reader) scalar(n ast.Node, what string) scalar {
	s := scalar{pos: r.at(n), set: true}
	switch v := n.(type) {
	case *ast.StringNode:
		s.text = v.Value
		if t := v.Token; t != nil && (strings.HasPrefix(t.Origin, `"`) || strings.HasPrefix(t.Origin, "'") || strings.Contains(t.Type.String(), "Quote")) {
			s.pos.Column++ // the text begins after the quote
		}
	case *ast.LiteralNode:
		s.text, s.block = v.Value.Value, true
		s.pos.Line++ // the text begins on the line after | or >
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		s.text = v.GetToken().Value
	default:
		r.fault(n, "%s has to be a text or a number, not %s", what, kindOf(n))
		return scalar{pos: s.pos}
	}
	if strings.TrimSpace(s.text) == "" {
		r.fault(n, "%s is empty", what)
		return scalar{pos: s.pos}
	}
	return s
}

// list reads a sequence; a lone value is a list of one.
func (*reader) list(n ast.Node, each func(n ast.Node)) {
	if s, ok := n.(*ast.SequenceNode); ok {
		for _, v := range s.Values {
			each(v)
		}
		return
	}
	each(n)
}

// texts reads a list of scalars.
func (r *reader) texts(n ast.Node, what string) (out []scalar) {
	r.list(n, func(n ast.Node) {
		if s := r.scalar(n, what); s.set {
			out = append(out, s)
		}
	})
	return out
}

// kindOf names a node for people.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias (not allowed in rules; write it out)"
	case *ast.TagNode:
		return "a tag (not allowed in rules)"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	default:
		return "a " + strings.ToLower(n.Type().String())
	}
}
