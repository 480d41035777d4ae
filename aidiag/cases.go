package aidiag

import (
	"fmt"

	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
	"netwhy/rules/diagnosis"
)

// Bounds of a case before facts are weighed.
const (
	caseFindings    = 64
	caseConnections = 12
)

// Result is what cases are made of: the findings of a run, its connections, and
// how far the capture can be believed.
type Result struct {
	Findings   []finding.Finding
	Connection func(flow.ID) *conn.Summary // nil where the summary was not kept
	Trust      conn.Trust
}

// Cases makes the questions of a result: one for each diagnosis, with the
// findings it cites, others of its connections, and the connections concerned.
// The ids are those of the report: D1, D2, ...
func Cases(res Result, said []diagnosis.Diagnosis) []Case {
	out := make([]Case, 0, len(said))
	for i := range said {
		out = append(out, caseOf(&res, fmt.Sprintf("D%d", i+1), said[i]))
	}
	return out
}

func caseOf(res *Result, id string, d diagnosis.Diagnosis) Case {
	c := Case{ID: id, Local: d, Trust: res.Trust}
	taken := map[int]bool{}
	take := func(i int) {
		if i >= 0 && i < len(res.Findings) && !taken[i] && len(c.Findings) < caseFindings {
			taken[i] = true
			c.Findings = append(c.Findings, Symptom{Index: i, Finding: res.Findings[i]})
		}
	}
	for _, i := range d.Evidence {
		take(i)
	}
	if res.Connection == nil {
		return c
	}
	for _, f := range d.Connections {
		if s := res.Connection(f); s != nil && len(c.Connections) < caseConnections {
			c.Connections = append(c.Connections, *s)
		}
	}
	for i := range res.Findings {
		if related(res.Findings[i].Flow, c.Connections) {
			take(i)
		}
	}
	return c
}

func related(f flow.ID, list []conn.Summary) bool {
	for i := range list {
		if list[i].ID == f {
			return f.Valid()
		}
	}
	return false
}
