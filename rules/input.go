package rules

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// Input is what the engine judges: a run's result, or the part of it that is
// there so far.
type Input struct {
	Findings []finding.Finding // sorted by first frame, code, flow
	// Connection returns the summary of a conversation, nil when it was not kept.
	Connection func(id flow.ID) *conn.Summary
	// Forgotten returns what is left of a conversation that was not kept for want of
	// room; false: it never had a summary. nil: nothing was forgotten.
	Forgotten func(id flow.ID) (conn.Brief, bool)
	Trust     conn.Trust
	Packets   uint64
	Bytes     uint64
	Duration  int64 // first to last frame, ns
	TCP, UDP  uint64
}

// Options of a judgement. The zero value is English.
type Options struct {
	Lang string // English or Chinese
}
