package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"netwhy/analyze/finding"
)

// Metrics are the figures of a finding by name: numbers and texts. They are those
// of the core with the names that their code gives them, since a report has tens of
// thousands and a map for each takes longer than all the rest of it (measured). The
// zero value has none.
type Metrics struct {
	of     *MetricNames
	values []finding.Value
}

// MetricNames are the names of the figures of a code, in their order.
type MetricNames struct{ list []metricName }

type metricName struct {
	name string
	text bool
	at   int // among the values
}

// NamesOf are the names of the figures that a code declares.
func NamesOf(metrics []finding.Metric) *MetricNames {
	n := &MetricNames{list: make([]metricName, len(metrics))}
	for i := range metrics {
		n.list[i] = metricName{name: metrics[i].Name, text: metrics[i].Text, at: i}
	}
	slices.SortFunc(n.list, func(a, b metricName) int { return cmp.Compare(a.name, b.name) })
	return n
}

// Of gives values, in the order of the declaration, their names. There may be fewer.
func (n *MetricNames) Of(values []finding.Value) Metrics { return Metrics{of: n, values: values} }

// MetricsOf are figures that are numbers (float64) or texts (string) by name; what is
// neither is 0.
func MetricsOf(m map[string]any) Metrics {
	metrics, values := make([]finding.Metric, 0, len(m)), make([]finding.Value, 0, len(m))
	for name, v := range m {
		text, isText := v.(string)
		num, _ := v.(float64)
		metrics, values = append(metrics, finding.Metric{Name: name, Text: isText}), append(values, finding.Value{Num: num, Text: text})
	}
	return NamesOf(metrics).Of(values)
}

// Metric is one figure.
type Metric struct {
	Name   string
	IsText bool
	Num    float64
	Text   string
}

// All are the figures in the order of their names.
func (m Metrics) All() iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		if m.of == nil {
			return
		}
		for i := range m.of.list {
			n := &m.of.list[i]
			if n.at >= len(m.values) {
				continue
			}
			v := &m.values[n.at]
			x := Metric{Name: n.name, IsText: n.text, Num: v.Num}
			if n.text {
				x.Num, x.Text = 0, v.Text
			}
			if !yield(x) {
				return
			}
		}
	}
}

// Get is the figure of a name; false: there is none.
func (m Metrics) Get(name string) (Metric, bool) {
	for x := range m.All() {
		if x.Name == name {
			return x, true
		}
	}
	return Metric{}, false
}

// Map has each figure as a float64 or a string.
func (m Metrics) Map() map[string]any {
	out := make(map[string]any, len(m.values))
	for x := range m.All() {
		if x.IsText {
			out[x.Name] = x.Text
		} else {
			out[x.Name] = x.Num
		}
	}
	return out
}

// MarshalJSON writes an object.
func (m Metrics) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // whoever asked escapes as it likes
	if err := e.Encode(m.Map()); err != nil {
		return nil, fmt.Errorf("write figures: %w", err)
	}
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Metrics) UnmarshalJSON(text []byte) error {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*m = MetricsOf(all)
	return nil
}
