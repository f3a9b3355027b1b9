// Package spec is app.yaml: what it may say, what it means, and what a change
// of it costs.
//
// [Parse] turns a file into an [App] that is complete and valid, or into
// [*Errors], all of them at once, each with its line, its column and what to
// do. [Service.Hash] tells whether two services need different containers,
// [Diff] what changed between them, and [Interrupts] whether the change can be
// carried out without an interruption.
//
// The API calls it for every spec that is handed in, the store keeps its types,
// and the controllers read them.
//
// What must never happen here: a guess. A key that is not known, a unit that is
// not clear or a value out of bounds is refused; nothing is dropped or rounded.
// The package does no I/O, reads no environment and no clock, and a hostile
// file costs no more than its size.
package spec
