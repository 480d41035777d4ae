package parquet_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	ours "netwhy/cmd/netwhy/internal/report/parquet"
	"netwhy/cmd/netwhy/internal/report/reporttest"
	"netwhy/cmd/netwhy/internal/report/rows"
)

var update = reporttest.Updating()

// TestReadBack: what was written is what is read, and the schema is the one that
// scripts know.
func TestReadBack(t *testing.T) {
	t.Parallel()
	file := reporttest.Written(t, ours.New, reporttest.Stalled())
	got, err := parquet.Read[rows.Row](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var want []rows.Row
	for _, c := range reporttest.Connections() {
		want = append(want, rows.Of(&c))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := f.Lookup("netwhy.version"); !ok || v != "1.2.3" {
		t.Errorf("version %q", v)
	}
	reporttest.Golden(t, "schema.txt", []byte(f.Schema().String()+"\n"), *update)
}

func TestManyAndNone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 255, 256, 257, 70_000} {
		var b bytes.Buffer
		s, ok := ours.New(&b).(report.ConnectionSink)
		if !ok {
			t.Fatal("it takes no connections")
		}
		for i := range n {
			if err := s.Connection(&conn.Summary{Proto: "tcp", First: uint64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish(&report.Report{}); err != nil {
			t.Fatal(err)
		}
		got, err := parquet.Read[rows.Row](bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil || len(got) != n || n > 0 && got[n-1].FirstFrame != uint64(n-1) {
			t.Errorf("%d rows of %d: %v", len(got), n, err)
		}
	}
}
