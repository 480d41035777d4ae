// Package parquet writes the conversations as an Apache Parquet file, with the
// columns of package rows: for pandas, DuckDB and Spark. Memory is bounded by one
// row group.
package parquet

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/rows"
)

// Rows are handed on by the hundred, and a row group ends after groupRows.
const (
	batch     = 256
	groupRows = 1 << 16
)

// New makes a sink that writes the conversations to w. What was written before
// Finish is no file yet: a Parquet file has its index at the end.
func New(w io.Writer) report.Sink {
	return &sink{
		w: parquet.NewGenericWriter[rows.Row](w, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(groupRows),
			parquet.CreatedBy("netwhy", "", "")),
		held: make([]rows.Row, 0, batch),
	}
}

type sink struct {
	w    *parquet.GenericWriter[rows.Row]
	held []rows.Row
}

// Connection takes one row.
func (s *sink) Connection(c *conn.Summary) error {
	s.held = append(s.held, rows.Of(c))
	if len(s.held) < batch {
		return nil
	}
	return s.flush()
}

func (s *sink) flush() error {
	_, err := s.w.Write(s.held)
	s.held = s.held[:0]
	return err
}

// Finding says nothing: the table is of conversations.
func (*sink) Finding(*report.Finding) error { return nil }

// Finish ends the file.
func (s *sink) Finish(r *report.Report) error {
	s.w.SetKeyValueMetadata("netwhy.version", r.Version)
	if err := s.flush(); err != nil {
		return err
	}
	return s.w.Close()
}
