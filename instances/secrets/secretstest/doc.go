// Package secretstest is the conformance suite of instances/secrets: Conforms for
// whatever implements secrets.Store.
//
// Tests of implementations call it. What must never happen here: a rule that the
// documentation of the interface does not state.
package secretstest
