// Package translate turns the services of a workload, as package provider has
// them, into the spec that the application planner runs, and refuses what this
// driver cannot do.
//
// The driver calls it for every release that is made. Fields is the table of what
// happens to each field of a request; a test walks the structs and fails on a
// field that the table does not know, that it says is mapped and that changes
// nothing, or that it says is refused and that passes.
//
// What must never happen here: a field that is read by nobody, a call to an
// engine, a vault or a store.
package translate
