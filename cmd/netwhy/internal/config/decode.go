package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"netwhy/rules/near"
)

// decoder lays a YAML document over a struct. It goes on after a fault, so that
// all faults of a file come at once. Anchors and aliases are refused: no
// configuration needs them, and they can make a small file huge.
type decoder struct {
	file   string
	origin map[string]string
	fault  func(*Error)
}

func (d *decoder) document(data []byte, into reflect.Value) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		e := &Error{Origin: d.file, Message: "not YAML: " + err.Error()}
		if ye, ok := errors.AsType[yaml.Error](err); ok {
			e.Message = "not YAML: " + ye.GetMessage()
			if t := ye.GetToken(); t != nil && t.Position != nil {
				e.Origin = fmt.Sprintf("%s:%d:%d", d.file, t.Position.Line, t.Position.Column)
			}
		}
		d.fault(e)
		return
	}
	for i, doc := range f.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if _, comment := doc.Body.(*ast.CommentGroupNode); comment {
			continue
		}
		if i > 0 {
			d.wrong(doc.Body, "", "a second document; a configuration is one")
			return
		}
		d.value(doc.Body, into, "")
	}
}

func (d *decoder) place(n ast.Node) string {
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		p := n.GetToken().Position
		return fmt.Sprintf("%s:%d:%d", d.file, p.Line, p.Column)
	}
	return d.file
}

func (d *decoder) wrong(n ast.Node, path, format string, args ...any) {
	d.fault(&Error{Origin: d.place(n), Key: path, Message: fmt.Sprintf(format, args...)})
}

func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	if t, ok := n.(*ast.TagNode); ok {
		n = t.Value
	}
	switch n.(type) {
	case *ast.NullNode:
		return // "key:" without a value leaves the default
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		d.wrong(n, path, "anchors and aliases are not read here; write the value out")
		return
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	switch {
	case isScalar(v):
		d.scalar(n, v, path)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, path)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path)
	default:
		d.wrong(n, path, "cannot be set in a file")
	}
}

func (d *decoder) mapping(n ast.Node, v reflect.Value, path string) {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		what := "the file"
		if path != "" {
			what = "this"
		}
		d.wrong(n, path, "%s has to be keys and values (%s ...), not %s", what, strings.Join(keysOf(v.Type())[:min(3, len(keysOf(v.Type())))], ", "), kindOf(n))
		return
	}
	for _, p := range pairs {
		key := ""
		if p.Key != nil && p.Key.GetToken() != nil {
			key = p.Key.GetToken().Value
		}
		field, ok := fieldOf(v, key)
		if !ok {
			where := "at the top"
			if path != "" {
				where = "under " + path
			}
			d.fault(&Error{Origin: d.place(p.Key), Message: fmt.Sprintf("unknown key %q %s", key, where), Hint: near.Hint(key, keysOf(v.Type()))})
			continue
		}
		d.value(p.Value, field, join(path, key))
	}
}

func (d *decoder) list(n ast.Node, v reflect.Value, path string) {
	var items []ast.Node
	switch s := n.(type) {
	case *ast.SequenceNode:
		items = s.Values
	default: // a lone value is a list of one
		items = []ast.Node{n}
	}
	out := reflect.MakeSlice(v.Type(), 0, len(items))
	for i, item := range items {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(item, e, fmt.Sprintf("%s[%d]", path, i))
		out = reflect.Append(out, e)
	}
	v.Set(out)
	d.origin[path] = d.line(n)
}

func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) {
	var text string
	switch s := n.(type) {
	case *ast.StringNode:
		text = s.Value
	case *ast.LiteralNode:
		text = s.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = n.GetToken().Value
	default:
		d.wrong(n, path, "has to be a single value, not %s", kindOf(n))
		return
	}
	if err := setText(v, text); err != nil {
		d.wrong(n, path, "%s", err)
		return
	}
	d.origin[path] = d.line(n)
}

func (d *decoder) line(n ast.Node) string {
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		return fmt.Sprintf("%s:%d", d.file, n.GetToken().Position.Line)
	}
	return d.file
}

// isScalar reports whether a single value fits.
func isScalar(v reflect.Value) bool {
	if _, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return true
	}
	switch v.Kind() { //nolint:exhaustive // the others are no scalars
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	}
	return false
}

// setText sets a single value from its text.
func setText(v reflect.Value, text string) error {
	if t, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return t.UnmarshalText([]byte(text))
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		dur, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is no duration; write it as 15s, 500ms or 2m", text)
		}
		if dur < 0 {
			return fmt.Errorf("%q is negative", text)
		}
		v.SetInt(int64(dur))
		return nil
	}
	switch v.Kind() { //nolint:exhaustive // isScalar has let no other through
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		switch text {
		case "true":
			v.SetBool(true)
		case "false":
			v.SetBool(false)
		default:
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		v.SetInt(n)
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		v.SetFloat(f)
	}
	return nil
}

// eachLeaf calls do for every value below v that a single text or a list can
// set, with its path and the short name of its variable.
func eachLeaf(v reflect.Value, path string, do func(path, short string, v reflect.Value)) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := f.Tag.Get("yaml")
		if key == "" || !f.IsExported() {
			continue
		}
		at := join(path, key)
		switch fv := v.Field(i); {
		case isScalar(fv), fv.Kind() == reflect.Slice:
			do(at, f.Tag.Get("env"), fv)
		case fv.Kind() == reflect.Struct:
			eachLeaf(fv, at, do)
		}
	}
}

func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ","); tag == key && key != "" && tag != "-" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != "" && tag != "-" {
			keys = append(keys, tag)
		}
	}
	return keys
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	}
	return "a single value"
}
