package report

import "netwhy/analyze/conn"

// Sink writes one format. It is called from one goroutine; its first error ends
// this sink only. Nothing that a sink does reaches back into the analysis.
type Sink interface {
	// Finding is called for each finding: as it appears, when that is live, and
	// again when it has grown.
	Finding(f *Finding) error
	// Finish writes what is to be said at the end.
	Finish(r *Report) error
}

// EarlySink is a Sink that shows what is known while an answer from outside is
// waited for. Finish then adds what came.
type EarlySink interface {
	Sink
	Early(r *Report) error
}

// LiveSink is a Sink that writes as things happen. Diagnosis is called for each
// diagnosis as it appears and when it has grown; Finish writes all of them once
// more, as they are at the end.
type LiveSink interface {
	Sink
	Diagnosis(d *Diagnosis) error
}

// SeenSink is a Sink that writes a symptom when it is first seen, long before the
// report: without an id, which is a place in an order that the end gives, and with
// the figures of that moment.
type SeenSink interface {
	Sink
	Seen(f *Finding) error
}

// ConnectionSink is a Sink that writes conversations. Connection is called for
// each when it is folded, all of them, before Finish; the summary is valid during
// the call only.
type ConnectionSink interface {
	Sink
	Connection(s *conn.Summary) error
}
