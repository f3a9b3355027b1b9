// Package records keeps what the docker provider must not forget, in a
// provider.StateStore: one document for each workload and one for each network.
//
// The driver reads and changes documents through Store; a View of one workload is
// the store that the application planner works with. Every change is a
// compare-and-swap on the whole document, repeated when somebody else was first, and
// is in the StateStore before the effect that it announces.
//
// What must never happen here: the value of a secret or of a config file in a
// document, a document that grows without bound, a change of a *Workload outside
// of Update.
package records
