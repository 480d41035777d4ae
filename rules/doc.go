// Package rules names root causes: it judges what package analyze found by rules
// written in YAML, and returns diagnoses with their proof.
//
// # What it never does
//
// It opens nothing, asks no clock and logs nothing. Rule files come as an fs.FS,
// what was found comes as an Input, the same Input gives the same diagnoses.
//
// # How a finding becomes a diagnosis
//
// A finding wakes the rules that name its code (on). The condition (when) is
// evaluated over the finding's conversation, its host or the whole capture
// (scope). A rule that holds is a hit. Hits that another hit is the reason of
// (subsumes) are given to it: cause before effect. The rest is folded: one
// diagnosis per cause and party, with its reach, ranked by severity and then by
// what it cost.
//
// # Why rules and not code
//
// Facts and judgement age differently. An analyzer says what was seen; what it
// means is an opinion with a threshold, and each threshold stands beside its
// reason (why), a capture that shows it (fires) and a healthy one that looks
// alike (silent).
//
// # Why expr and not CEL
//
// Authors write ratios and thresholds over floats: in CEL an integer beside a
// double is an error everywhere. expr has no dependencies and compiles in
// microseconds; what its language allows and a rule should not do (clock, ranges,
// division by zero, methods, unknown names) is refused when the rule is loaded:
// see compile.go.
//
// # Why woken by codes
//
// Sixty conditions for each of a million connections are twenty seconds. Woken
// by findings, a healthy capture costs nothing.
package rules
