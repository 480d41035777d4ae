package report_test

import (
	"encoding/json"
	"maps"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/cmd/netwhy/internal/report"
)

// TestMetrics: figures keep their names whatever the order of their declaration is, and
// come back from JSON as they were.
func TestMetrics(t *testing.T) {
	t.Parallel()
	names := report.NamesOf([]finding.Metric{{Name: "seconds"}, {Name: "name", Text: true}, {Name: "bytes"}})
	values := []finding.Value{finding.Num(2.5), finding.Text("<a>"), finding.Num(7)}
	for n, want := range []string{`{}`, `{"seconds":2.5}`, `{"name":"\u003ca\u003e","seconds":2.5}`, `{"bytes":7,"name":"\u003ca\u003e","seconds":2.5}`} {
		m := names.Of(values[:n])
		got, err := json.Marshal(m)
		if err != nil || string(got) != want {
			t.Errorf("%d values: %s, %v, want %s", n, got, err, want)
		}
		var back report.Metrics
		if err := json.Unmarshal(got, &back); err != nil || !maps.Equal(back.Map(), m.Map()) {
			t.Errorf("%s came back as %v, %v", got, back.Map(), err)
		}
	}
	if x, ok := names.Of(values).Get("name"); !ok || x.Text != "<a>" {
		t.Errorf("name is %+v, %t", x, ok)
	}
	if _, ok := names.Of(values[:1]).Get("name"); ok {
		t.Error("a figure that is not there was found")
	}
}
