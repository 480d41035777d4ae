// Package aidiag asks a language model in the cloud, or on this machine, about
// what the rules found, and hurts nobody when that fails.
//
// # The walk of a case
//
// A [Case] holds a diagnosis by the rules and what it rests on. [Engine.Submit]
// queues it without ever waiting. A worker of [Engine.Run] makes the smallest
// honest document of it (facts by weight, pseudonyms for all names), sends it by
// way of the router, and checks the answer: every claim must cite findings and
// frames that were sent. [Engine.Answers] gives exactly one [Answer] for each
// case that was not handed back.
//
// # What never happens
//
// The rules' diagnosis is there before the question and is never removed,
// re-ranked or softened. Nothing opens a socket or reads a key before Run works
// on a case. Nothing waits for the cloud but the workers here: Submit does not
// block, and when something has to make room the least severe case comes back,
// answered by its rules. No payload, path, name or address of a capture leaves.
// Nothing that a model says is executed, opened or fetched.
//
// # Why the answer of the rules is the fallback
//
// It exists before the question, so falling back is returning a value: there is
// no code path left that could fail, and no reason to wait.
package aidiag
