// Package server offers any [backend.Backend] over HTTP, so that whoever holds the
// ledger of leases reaches it with a [backend.HTTPClient].
//
//	handler := server.New(b, server.Config{Auth: verifier, Logger: log})
//
// The process that runs a backend calls it; the timeouts of connections, TLS and
// the listener are its own. The handler checks what comes in, asks the backend once
// and says what it answered.
//
// # Answers
//
// Every body is JSON, and every one that is not a success a
// [backend.ErrorResponse]:
//
//	400  the request is not well formed, or ErrValidation, with its validation_code
//	401  the signature is missing or wrong; nothing else is said
//	404  ErrNotProvisioned, or no such path
//	405  the path is there, the method is not
//	409  ErrInvalidState; with code already_provisioned, ErrAlreadyProvisioned
//	413  the body is larger than the bound
//	422  ErrNotRetained; with code demote_exceeds_tier, ErrDemoteDataExceedsTier;
//	     with code restore_refused, ErrRestoreRefused
//	503  ErrInsufficientResources; on /health, whatever Health says
//	500  all else, in words that tell nothing of the inside; the log has the error
//
// A route gives only the answers of its own operation: an error that another
// operation would have is a 500 there, so that no client takes it for something
// that it can act on.
//
// A backend that is a [Drainer] says on /health that it is being emptied; it is
// healthy all the same, as its leases go on. Its load says that it is full.
//
// [LocalHandler] is for who operates a backend: the reads alone, without signatures,
// over a Unix socket and nowhere else.
//
// UUIDs of leases reach the backend in lower case, as a list's order needs them.
//
// What must never happen here: a call of the backend for a request that is not
// signed, on a route that must be; the text of an error that nobody wrote for the
// holder of a lease; a list that is not whole and says 200; null for a list that is
// empty.
package server
