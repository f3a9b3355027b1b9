// Package group keeps as many machines as a group is to have, of the kind that it is to
// have, with one controller for each group of each tenant on the engine of
// internal/reconcile.
//
// The leader of a shard makes one [Groups] for each of its terms and gives the engine
// [Groups.Factory] and [Groups.List]. Package instances makes and removes the machines;
// this package decides which, and when.
//
// # One pass
//
// observe.go gathers what is known into an [Observed]: rows of the cache, signs of life,
// answers of the provider about machines that give cause to ask. [Plan] makes of it a
// [Decision], and touches nothing. execute.go does what was decided. Each phase of a
// machine's life has a file: launch, registration, liveness, drift, expiry, drain,
// termination. Leftovers are found by the manager's Collect, which collect.go runs.
//
// A rotation is kept nowhere. A machine that has to be replaced gets one more beside it,
// and a group with one too many loses the one that has to be replaced: a new leader
// finds either of the two, and goes on.
//
// # Rules
//
//   - A replacement is there, registered and heard of, before a machine is drained, and
//     the machine is drained before it goes. At most one is above the size, those that
//     leave by themselves not counted.
//   - One machine of a group is rotated at a time, and none while another leaves.
//   - What is too many goes by age, the oldest first, after those that are to be
//     replaced anyway. Machines on demand are not counted and not replaced.
//   - A notice of termination acts at once.
//   - A group is shrunk by what its configuration says, never by its not being readable.
//   - Silence is counted from the registration, and from the beginning of a term: a new
//     leader takes nobody for dead whom it has not yet had time to hear.
//   - A machine that holds what must not be lost is left alone, and the condition says so.
//   - What fails again and again is tried less and less often, a group by itself.
//
// What must never happen here: a registered machine removed because of what a list does
// not have; an answer that was not given taken for a no; a wait within a pass.
package group
