// Package client speaks Berth's HTTP API over the daemon's Unix socket, with
// the types of internal/wire.
//
// The command line is its main caller; tests and tools use it too. A failure
// the server reports is a *[wire.Problem]; a daemon that does not answer is
// [ErrUnreachable].
//
// What must never happen here: an import of anything that links an engine or a
// database, a print, a retry of a request that changes something.
package client
