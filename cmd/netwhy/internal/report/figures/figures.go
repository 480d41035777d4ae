// Package figures writes what a finding measured, for people: with units, in the
// order of its declaration, in their language. Formats for people share it.
package figures

import (
	"fmt"
	"strconv"
	"strings"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/lang"
	"netwhy/cmd/netwhy/internal/report"
)

// Figure is one figure of a finding, ready to be shown.
type Figure struct {
	Name   string // in the reader's language, without the unit
	Amount string // with its unit; empty: that it is so is all there is to say
	Doc    string // what it is; empty where the declaration is not known
}

func (f Figure) String() string { return strings.TrimRight(f.Name+" "+f.Amount, " ") }

// Of lists the figures that say something: not those that are 0 or empty. They
// come in the order of their declaration, by name where that is not known. Texts
// from packets are as they came.
func Of(f *report.Finding, codes map[string]finding.Def, w lang.Words) []Figure {
	metrics := codes[f.Code].Metrics
	if metrics == nil {
		for x := range f.Metrics.All() {
			metrics = append(metrics, finding.Metric{Name: x.Name})
		}
	}
	var out []Figure
	for i := range metrics {
		m := &metrics[i]
		switch x, _ := f.Metrics.Get(m.Name); {
		case x.Num != 0:
			out = append(out, number(m, x.Num, w))
		case x.Text != "":
			out = append(out, Figure{Name: w.Figure(m.Name), Amount: w.Value(m.Name, x.Text), Doc: w.Text(m.Doc)})
		}
	}
	return out
}

func number(m *finding.Metric, v float64, w lang.Words) Figure {
	f := Figure{Name: w.Figure(Bare(m.Name)), Doc: w.Text(m.Doc)}
	if v == 1 && isFlag(m) {
		f.Doc = strings.TrimPrefix(strings.TrimPrefix(f.Doc, "1: "), "1：")
		return f
	}
	switch {
	case strings.HasSuffix(m.Name, unitSeconds):
		f.Amount = Seconds(int64(v * 1e9))
	case strings.HasSuffix(m.Name, unitMillis):
		f.Amount = Seconds(int64(v * 1e6))
	case strings.HasSuffix(m.Name, unitBytes):
		f.Amount = Size(uint64(max(0, v)))
	case isName(m.Name):
		f.Amount = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		f.Amount = Number(v)
	}
	return f
}

// isName reports whether a number names something instead of counting it: it is
// written as people look for it, port 20600 and not 20,600.
func isName(metric string) bool {
	switch metric[strings.LastIndexByte(metric, '_')+1:] {
	case "port", "code", "subcode", "number", "status", "type", "version", "vlan", "as", "id", "pid":
		return true
	}
	return false
}

// The name of a figure ends in its unit.
const (
	unitSeconds = "_seconds"
	unitMillis  = "_ms"
	unitBytes   = "_bytes"
)

// Bare is the name of a numeric figure without its unit.
func Bare(name string) string {
	for _, unit := range []string{unitSeconds, unitMillis, unitBytes} {
		if bare, ok := strings.CutSuffix(name, unit); ok {
			return bare
		}
	}
	return name
}

// isFlag reports whether a figure is 1 when something is so: its declaration
// begins with that.
func isFlag(m *finding.Metric) bool {
	return !m.Text && (strings.HasPrefix(m.Doc, "1: ") || strings.HasPrefix(m.Doc, "1 when ") || strings.HasPrefix(m.Doc, "1 for "))
}

// Seconds writes nanoseconds for people: three digits that matter.
func Seconds(ns int64) string {
	s := float64(ns) / 1e9
	switch {
	case ns == 0:
		return "0 s"
	case s < 0:
		return "-" + Seconds(-ns)
	case s < 0.001:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 0.0995:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 0.9995:
		return fmt.Sprintf("%.0f ms", s*1e3)
	case s < 9.995:
		return fmt.Sprintf("%.2f s", s)
	case s < 99.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 6000:
		return fmt.Sprintf("%.0f s", s)
	case s < 2*86400:
		return fmt.Sprintf("%.1f h", s/3600)
	default:
		return fmt.Sprintf("%.1f d", s/86400)
	}
}

// Number writes a figure without a tail of digits.
func Number(v float64) string {
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return Grouped(int64(v))
	}
	return fmt.Sprintf("%.3g", v)
}

// Grouped writes 1,234,567.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Size writes bytes in decimal units, as network people count.
func Size(n uint64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, units := float64(n), []string{"kB", "MB", "GB", "TB", "PB", "EB"}
	i := -1
	for v >= unit && i < len(units)-1 {
		v /= unit
		i++
	}
	return fmt.Sprintf("%.3g %s", v, units[i])
}
