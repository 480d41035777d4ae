package rules_test

import (
	"fmt"
	"reflect"
	"testing"

	"netwhy/analyze"
	"netwhy/analyze/finding"
	"netwhy/rules"
)

// TestQuickSaysTheSame: rules whose expressions are compiled when they are needed
// are the rules, and say what those say that were compiled before.
func TestQuickSaysTheSame(t *testing.T) {
	t.Parallel()
	full, err := rules.Load(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	quick, err := rules.LoadQuick(analyze.Defs())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(full.IDs(), quick.IDs()) {
		t.Fatalf("%d and %d rules", len(full.IDs()), len(quick.IDs()))
	}
	// Every code, with every figure: wakes all rules.
	for _, figure := range []float64{0, 1, 3, 100, 10_000} {
		w := newWorld()
		for i, d := range analyze.Defs() {
			c := w.conn(uint32(i), fmt.Sprintf("10.0.%d.%d:4000", i>>8&255, i&255), "10.1.0.5:80")
			c.Worst = nil
			values := make([]finding.Value, len(d.Metrics))
			for k, m := range d.Metrics {
				if m.Text {
					values[k] = finding.Text("server")
				} else {
					values[k] = finding.Num(figure)
				}
			}
			w.find(c, "", d.Code, uint64(i)+1, values...)
		}
		for _, lang := range []string{rules.English, rules.Chinese} {
			want, faults := full.Diagnose(&w.in, rules.Options{Lang: lang})
			got, more := quick.Diagnose(&w.in, rules.Options{Lang: lang})
			if len(faults) != len(more) || !reflect.DeepEqual(want, got) {
				t.Errorf("figure %g, %s: %d diagnoses and %d faults, want %d and %d", figure, lang, len(got), len(more), len(want), len(faults))
			}
			if figure == 100 && len(want) < 50 {
				t.Errorf("only %d rules woke", len(want))
			}
		}
	}
}

// BenchmarkLoad is what every run pays before it can judge.
func BenchmarkLoad(b *testing.B) {
	codes := analyze.Defs()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rules.LoadQuick(codes); err != nil {
			b.Fatal(err)
		}
	}
}
