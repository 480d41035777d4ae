package rules_test

import (
	"fmt"
	"testing"

	"netwhy/analyze/finding"
	"netwhy/rules"
)

// BenchmarkDiagnose judges many connections that one rule folds into one
// diagnosis: what a day of a refused port costs.
func BenchmarkDiagnose(b *testing.B) {
	s, err := rules.LoadOnly(defs(), rules.Dir{FS: mapFS(zeroWindow)})
	if err != nil {
		b.Fatal(err)
	}
	const n = 10_000
	w := newWorld()
	for i := range uint32(n) {
		c := w.conn(i, fmt.Sprintf("10.0.%d.%d:4000", i>>8&255, i&255), "10.1.0.5:80")
		w.find(c, "", "tcp.zero-window", uint64(i)+1, finding.Num(2.0), finding.Num(1), finding.Text("server"))
	}
	b.ReportAllocs()
	for b.Loop() {
		if got, _ := s.Diagnose(&w.in, rules.Options{}); len(got) != 1 {
			b.Fatal(len(got))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/finding")
}
