package rules

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"netwhy/rules/diagnosis"
)

// LabelsFile is the name of the table that says of each capture of a folder what
// is wrong in it.
const LabelsFile = "LABELS.tsv"

// Healthy is the label of a capture of which nothing of severity warning or above
// may be said.
const Healthy diagnosis.Cause = "healthy"

// Label says what an expert should name first in a capture, and who is to blame.
type Label struct {
	Name    string
	Cause   diagnosis.Cause
	Culprit diagnosis.Culprit
	Also    []diagnosis.Cause // right too
}

// accepts reports whether a cause is what the label wants.
func (l *Label) accepts(c diagnosis.Cause) bool { return c == l.Cause || slices.Contains(l.Also, c) }

// Columns of a table of labels; others are passed over.
const (
	columnName    = "name"
	columnCause   = "root_cause"
	columnCulprit = "culprit"
	columnAlso    = "also_acceptable"
)

// maxLabels bounds a table of labels, in bytes a line and lines.
const maxLabels = 1 << 16

// ReadLabels reads a table of labels: tab-separated, the first line names the
// columns name, root_cause, culprit and also_acceptable (causes with commas
// between). All faults come joined, with their lines.
func ReadLabels(r io.Reader) ([]Label, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxLabels)
	if !sc.Scan() {
		return nil, errors.Join(errors.New("no line with the names of the columns"), sc.Err())
	}
	columns := strings.Split(strings.TrimRight(sc.Text(), "\r"), "\t")
	at := func(cells []string, column string) string {
		if i := slices.Index(columns, column); i >= 0 && i < len(cells) {
			return strings.TrimSpace(cells[i])
		}
		return ""
	}
	var out []Label
	var errs []error
	for _, c := range []string{columnName, columnCause} {
		if !slices.Contains(columns, c) {
			errs = append(errs, fmt.Errorf("line 1: no column %q", c))
		}
	}
	for line := 2; sc.Scan() && len(errs) == 0 && line < maxLabels; line++ {
		text := strings.TrimRight(sc.Text(), "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		cells := strings.Split(text, "\t")
		l := Label{
			Name: at(cells, columnName), Cause: diagnosis.Cause(at(cells, columnCause)),
			Culprit: diagnosis.Culprit(at(cells, columnCulprit)),
		}
		if l.Name == "" || l.Cause == "" {
			errs = append(errs, fmt.Errorf("line %d: a capture without name or cause", line))
			continue
		}
		for c := range strings.SplitSeq(at(cells, columnAlso), ",") {
			if c = strings.TrimSpace(c); c != "" {
				l.Also = append(l.Also, diagnosis.Cause(c))
			}
		}
		out = append(out, l)
	}
	return out, errors.Join(append(errs, sc.Err())...)
}
