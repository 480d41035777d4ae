package report

import (
	"netwhy/analyze/finding"
)

// Sink writes one format. It is called from one goroutine; its first error ends
// this sink only. Nothing that a sink does reaches back into the analysis.
type Sink interface {
	// Finding is called as findings appear, if the format can say them at once.
	Finding(f *finding.Finding) error
	// Finish writes what is to be said at the end.
	Finish(r *Report) error
}
