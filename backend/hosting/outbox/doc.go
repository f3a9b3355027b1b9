// Package outbox keeps the callbacks of leases until whoever holds them has
// acknowledged them.
//
// Hosting calls it: [Outbox.Add] when a lease reached a state that its holder must
// hear of, [Outbox.Step] again and again while callbacks wait, [Outbox.Pending] when
// it starts, and [Outbox.Forget] when nothing is left of a lease. An Outbox has no
// memory and no goroutine. All it knows is in the store, so that a new one goes on
// where another was killed.
//
// # Rows
//
// A callback is a row: its place in the order, the URL, the body to the byte, and what
// became of it so far. The rows of a lease are one record, together with what outlives
// them: the second of the last signature, the operations that are over, the number of
// callbacks that were given up. Every change is one compare-and-swap of that record,
// so that there is no state between two writes to come back from.
//
// # A callback
//
//	Add           a row, before anything is sent
//	claim         attempt and signature are written, then it is sent
//	2xx           acknowledged: the row goes
//	all else      again in 1 s to 2 s, doubled for each failure, up to 5 min
//	24 h old      given up, counted and logged: the row goes
//
// The next callback of a lease waits until the one before is gone. A claim lapses
// after 20 s, and a send ends before its claim does: no row is ever under way twice at
// a time, not even when two step at once.
//
// # Signatures
//
// A receiver takes two callbacks that say the same, signed in the same second, for
// one. So each callback of a lease has a later second than the one before, up to 30 s
// ahead of the clock. A callback that is sent again, its answer having been lost, has
// the signature that it had while that is fresh: the receiver then knows it, and
// delivers it once. One that was refused (4xx) is signed anew.
//
// Within what a receiver remembers a callback is delivered once; after that, and by a
// receiver without a memory, at least once.
//
// # What must never happen here
//
// A callback that is sent before its row is written, or after Forget; one that
// overtakes another; a row that is removed because something could not be read; a URL,
// or what was read from it, in an error.
package outbox
