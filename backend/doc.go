// Package backend is how capacity is leased: whoever holds the ledger of leases
// asks a [Backend] to provision each of them, and is told by a callback what
// became of it.
//
// [Backend] is the contract. [HTTPClient] reaches one over signed HTTP, package
// server offers any of them so, and package hosting is the one that provisions. A
// [Router] knows several and picks one by SKU; a [MockBackend] is for tests.
//
// # Asking
//
// Provision, Restart, Update and Restore accept work and return; what becomes of
// it is a [CallbackPayload], sent to the callback URL of the request. Exactly one
// callback ends each of them. Deprovision preempts whatever is under way, whose
// callback then never comes, and may be repeated, also for a lease that nobody
// knows.
//
// A lease is named by a UUID that its holder chose. After an answer that was lost
// the holder asks again with the same one: ErrAlreadyProvisioned then means that
// the first request arrived.
//
// # Reading
//
// A list is complete or an error: a caller may conclude from an absent lease that
// it is absent. An error that does not say so means nothing about a lease, and
// nobody may destroy anything for it.
//
// # On the wire
//
// JSON over HTTP, signed as package hmacauth says. Fields that a reader does not
// know are passed over, in both directions, so that either side may be newer. An
// error is an [ErrorResponse]: its status tells the kind, validation_code and code
// which one, and error the words. A failure in a record is a reason from an open
// set and a message; last_error and error, by which earlier readers know it, have
// the same words.
//
// What must never happen here: a file that is opened, an answer that is believed
// because it came with the right status alone, a metric registered by the package
// itself.
package backend
