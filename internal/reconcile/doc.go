// Package reconcile holds the controller contract and the engine that runs
// controllers by key.
//
// The daemon builds one [Engine] and gives it a [Factory]; the store, the
// Docker event stream and controllers themselves tell it that a key may have
// changed. A run of a key is never concurrent with itself; many keys run at
// once.
//
// What must never happen here: a decision about a service, a wait inside a
// worker, knowledge of what a key means.
package reconcile
