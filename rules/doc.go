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
// what it cost; what is told for completeness (aside) comes last among its severity.
//
// # Many of a kind
//
// A cause can hold for thousands: nobody reads thousands of diagnoses. The fifty
// that cost most are told one by one, the others of the same cause, culprit and
// severity in one diagnosis with its reach and samples (more.go). Conditions are
// asked of all of them, words are found for what is told only.
//
// A conversation whose summary was not kept, because a capture had more of them
// than there is room, is judged by its findings and by what is kept of it in short:
// ends, protocol, sizes. It counts with the others of its party and in the reach;
// a diagnosis of its own it never gets, for want of facts to tell.
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
// see compile.go. What was checked runs as closures over the facts (closure.go), a
// twentieth of what the library's machine and its map of all names take; the
// machine evaluates what they cannot express.
//
// # Why woken by codes
//
// Sixty conditions for each of a million connections are twenty seconds. Woken
// by findings, a healthy capture costs nothing: the built-in rules are not even read
// before a code that wakes them was found (asleep.go).
package rules
