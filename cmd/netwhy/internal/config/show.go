package config

import (
	"encoding"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Show writes the effective configuration as a file that netwhy reads, each
// value with where it came from. What depends on the kind of AI provider is a
// comment, as in a file that leaves it open. Secrets mask themselves: their types'
// MarshalText does.
func (l *Loaded) Show(w io.Writer) error {
	var b strings.Builder
	switch {
	case l.File != "":
		fmt.Fprintf(&b, "# from %s\n", l.File)
	default:
		fmt.Fprintf(&b, "# no file; looked for %s\n", strings.Join(l.Searched, ", "))
	}
	shown := *l
	shown.AI, shown.remarks = l.AI.Shown()
	if err := shown.show(&b, reflect.ValueOf(&shown.Config).Elem(), "", ""); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Loaded) show(b *strings.Builder, v reflect.Value, path, indent string) error {
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		f, at := v.Field(i), join(path, key)
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		switch {
		case isScalar(f):
			text, err := scalarText(f)
			if err != nil {
				return fmt.Errorf("show %s: %w", at, err)
			}
			if l.remarks[at] != "" { // as a value it would hold for all
				key = "# " + key
			}
			l.line(b, indent+key+": "+text, at)
		case f.Kind() == reflect.Struct:
			fmt.Fprintf(b, "%s%s:\n", indent, key)
			if err := l.show(b, f, at, indent+"  "); err != nil {
				return err
			}
		case f.Kind() == reflect.Slice:
			if err := l.showList(b, f, at, indent, key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Loaded) showList(b *strings.Builder, v reflect.Value, path, indent, key string) error {
	if v.Len() == 0 {
		l.line(b, indent+key+": []", path)
		return nil
	}
	l.line(b, indent+key+":", path)
	for i := range v.Len() {
		e := v.Index(i)
		if isScalar(e) {
			text, err := scalarText(e)
			if err != nil {
				return fmt.Errorf("show %s: %w", path, err)
			}
			fmt.Fprintf(b, "%s  - %s\n", indent, text)
			continue
		}
		var item strings.Builder
		if err := l.show(&item, e, fmt.Sprintf("%s[%d]", path, i), indent+"    "); err != nil {
			return err
		}
		b.WriteString(strings.Replace(item.String(), indent+"    ", indent+"  - ", 1))
	}
	return nil
}

// originColumn is where the remarks stand.
const originColumn = 36

func (l *Loaded) line(b *strings.Builder, text, path string) {
	remark := l.originOf(path)
	if more := l.remarks[path]; more != "" {
		remark += "; " + more
	}
	fmt.Fprintf(b, "%-*s # %s\n", originColumn, text, remark)
}

// scalarText writes one value so that it reads back as itself.
func scalarText(v reflect.Value) (string, error) {
	value := v.Interface()
	if m, ok := value.(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return "", err
		}
		if v.Kind() != reflect.String && v.Kind() != reflect.Struct {
			return string(text), nil
		}
		value = string(text)
	} else if d, ok := value.(time.Duration); ok {
		short := d.String() // "1m0s": the zeros say nothing
		if d >= time.Minute && strings.HasSuffix(short, "m0s") {
			short = strings.TrimSuffix(short, "0s")
		}
		return short, nil
	}
	text, err := yaml.Marshal(value)
	return strings.TrimSpace(string(text)), err
}
