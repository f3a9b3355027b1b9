// Package reconcile holds the controller contract and the engine that runs
// controllers by key.
//
// The daemon builds one [Engine] and gives it a [Factory]; the store, the
// Docker event stream and controllers themselves tell it that a key may have
// changed. A run of a key is never concurrent with itself; many keys run at
// once.
//
// # What wakes a key
//
// The error backoff of a failing key is a promise to the machine under it. The
// ways to wake a key differ in whether they may break that promise:
//
//	call            when the key is failing           forgets its failures
//	Enqueue         runs now                          yes
//	EnqueueAfter    runs at that time                 no
//	Resync, Watch   runs now, once per call           no
//	Kick, watchdog  waits for the backoff to end      no
//
// Use [Engine.Enqueue] where somebody changed what is wanted, and [Engine.Kick]
// for everything the world reports about itself: a container that crashes in a
// loop sends an event at each crash, and each of those is a Kick. A key that
// does not fail runs at once whichever is used.
//
// All of them coalesce. A key that waits for a worker keeps its one place; a
// key that runs is marked and runs once more afterwards, however often it was
// woken meanwhile. The queue is thereby bounded by the number of keys.
//
// # Files
//
// queue.go is the state machine of keys (no goroutine, no clock), fifo.go,
// group.go and timers.go its parts. engine.go, pass.go, preempt.go and
// resync.go put workers and time around it. conditions.go decides what is
// written to the store.
//
// What must never happen here: a decision about a service, a wait inside a
// worker, knowledge of what a key means.
package reconcile
