// Package route decides who is asked, how often and when nobody is asked: the
// order of providers and endpoints, retries, waits, breakers and budgets. What
// is asked and whether the answer is true is the caller's matter.
//
// # Three memories, not one
//
// The breaker of an endpoint remembers whether it can be reached and works; the
// cooldown of a provider, when it asked us to come back; the quarantine of a
// provider, that a key, a bill or a model name has to be mended first. A refusal
// (4xx) never opens a breaker: it proves that the endpoint works, and one bad
// prompt must not take out every provider in turn.
//
// # Why a gate in front of gobreaker
//
// gobreaker has one constant time-out and a mutex. The gate is one atomic load:
// while it is closed a case falls back in about a tenth of a microsecond with no
// allocation, and its time grows with every failed probe.
//
// # Why a local server has a pace of its own
//
// It may load its model for a minute, thinks with one processor, and is back soon
// behind a restart: it has more time, one slot and shorter open times than the
// cloud. Each provider keeps its own, also where both stand in one list; a case
// that the cloud had its time for may still be asked here. The time begins with
// the first slot: who waits for others loses none of it.
//
// # Why a failover costs no retry token
//
// The tokens bound how much a broken provider is asked beyond one try a case.
// Another endpoint is asked for the first time; what bounds that is the breaker,
// the number of attempts and the time of the case.
package route
