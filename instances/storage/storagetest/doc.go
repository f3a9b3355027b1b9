// Package storagetest is the conformance suite of instances/storage: Conforms for
// whatever implements storage.Storage, and Faulty, a Storage that fails, hangs and
// counts on demand.
//
// Tests of implementations and of what stands on them call it. What must never
// happen here: a rule that the documentation of the interface does not state.
package storagetest
