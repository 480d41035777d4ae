package json

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"netwhy/cmd/netwhy/internal/report"
)

// FuzzAppended: numbers, texts and times look as encoding/json writes them.
func FuzzAppended(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-6, 9.99e-7, 1e-9, -2.5e-10, 1e20, 1e21, 1.5e300, 1 << 53, 1<<53 + 2, 503, 0.000123} {
		f.Add(v, "plain", int64(v))
	}
	for _, s := range []string{"", `q"\`, "a\x1b[2Jb\n", "\x7f\u0085\u202e\u2028", "\xff\xfe", "中文", "<&>", "\U000e0041"} {
		f.Add(1.5, s, int64(-1))
	}
	f.Fuzz(func(t *testing.T, v float64, s string, at int64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			v = 0
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendNumber(nil, v); !bytes.Equal(got, want) {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
		if want, err = Marshal(s, ""); err != nil {
			t.Fatal(err)
		}
		if got := append(appendText(nil, s), '\n'); !bytes.Equal(got, want) {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
		a := &appender{}
		for _, n := range []int64{at, at + 1, 0} {
			if want, err = json.Marshal(report.Time(n)); err != nil {
				t.Fatal(err)
			}
			if got := a.time(nil, report.Time(n)); !bytes.Equal(got, want) {
				t.Errorf("%d: %s, want %s", n, got, want)
			}
		}
	})
}
