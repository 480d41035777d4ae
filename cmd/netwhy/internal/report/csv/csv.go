// Package csv writes the conversations as a table (RFC 4180), one a line, as they
// are folded: for spreadsheets, pandas and DuckDB.
//
// Times are RFC 3339 in UTC, which DuckDB, pandas and spreadsheets know for times.
//
// A spreadsheet runs what begins with =, +, - or @. Server names come from
// packets, so a text that begins so is led by an apostrophe, which spreadsheets
// take for "this is text".
package csv

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"netwhy/analyze/conn"
	"netwhy/cmd/netwhy/internal/report"
	"netwhy/cmd/netwhy/internal/report/rows"
)

// New makes a sink that writes each conversation to w.
func New(w io.Writer) report.Sink { return &sink{w: csv.NewWriter(w)} }

type sink struct {
	w     *csv.Writer
	begun bool
	cells []string
}

// Columns are the names in the first line.
func Columns() []string {
	t := reflect.TypeFor[rows.Row]()
	names := make([]string, 0, t.NumField())
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		names = append(names, name)
	}
	return names
}

func (s *sink) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	return s.w.Write(Columns())
}

// Connection writes one line.
func (s *sink) Connection(c *conn.Summary) error {
	if err := s.begin(); err != nil {
		return err
	}
	row := reflect.ValueOf(rows.Of(c))
	s.cells = s.cells[:0]
	for f, v := range row.Fields() {
		if strings.Contains(f.Tag.Get("parquet"), "timestamp") {
			s.cells = append(s.cells, report.Time(v.Int()).String())
			continue
		}
		s.cells = append(s.cells, cell(v))
	}
	return s.w.Write(s.cells)
}

func cell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return harmless(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	default:
		return fmt.Sprint(v.Interface())
	}
}

func harmless(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Finding says nothing: the table is of conversations.
func (*sink) Finding(*report.Finding) error { return nil }

// Finish writes what is still held; a capture without conversations has its
// header all the same.
func (s *sink) Finish(*report.Report) error {
	if err := s.begin(); err != nil {
		return err
	}
	s.w.Flush()
	return s.w.Error()
}
