// Package storetest is the conformance suite of store.Store: every rule that
// the interface states, and a round trip of every field of every entity.
//
// The tests of each implementation call [RunSuite].
//
// What must never happen here: a rule that only one implementation can keep,
// an import outside of tests.
package storetest
