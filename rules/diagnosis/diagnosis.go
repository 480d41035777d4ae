// Package diagnosis is the vocabulary of root causes: what the rules (or the
// LLM, checked against the evidence) say about the findings.
package diagnosis

import (
	"netwhy/analyze/conn"
	"netwhy/analyze/finding"
	"netwhy/analyze/flow"
)

// Cause names a root cause: a kebab-case noun of the contract's list, such as
// "receiver-zero-window".
type Cause string

// Culprit is the party that has to change something.
type Culprit string

// Culprits, as the report names them.
const (
	Client   Culprit = "client"
	Server   Culprit = "server"
	Network  Culprit = "network"
	Resolver Culprit = "resolver"
	Host     Culprit = "host"
	None     Culprit = "none" // nobody: the capture itself, or nothing to mend
)

// Origin tells who said it.
type Origin string

// Origins, as the report names them.
const (
	ByRules Origin = "rules"
	ByAI    Origin = "ai"
)

// Impact is what the cause cost the user; it ranks diagnoses.
type Impact struct {
	Connections    int     // connections touched
	StalledSeconds float64 // time lost, over all of them
	Failed         int     // connections or requests that did not succeed
}

// Exclusion is a rival cause and the fact that rules it out.
type Exclusion struct {
	Cause   Cause
	Because string
}

// NextStep is the one command whose result would tell the remaining rivals apart.
type NextStep struct {
	Command    string
	TellsApart string
}

// Diagnosis is one root cause with its proof.
type Diagnosis struct {
	Cause       Cause
	Culprit     Culprit
	Severity    finding.Severity
	Confidence  float64 // 0 to 1, computed from the evidence
	Title       string  // one sentence: party, seconds, proof
	Explanation string
	Remedies    []string
	References  []string
	Evidence    []int     // indices into the result's findings; never empty
	Connections []flow.ID // those concerned, worst first
	Frames      []uint64  // that prove it, ascending, at most finding.MaxFrames
	Origin      Origin
	Rule        string // id of the rule; empty unless ByRules
	Impact      Impact
	Ledger      *conn.Ledger // of the worst exchange; nil where time is not the matter
	Excluded    []Exclusion
	NextStep    *NextStep
	Caveats     []string // what in the capture weakens this (trust)
	More        int      // parties that it stands for together, after those that were told one by one; 0: it is one's
}
