// Package api is Berth's HTTP API: the one way in for the command line, the
// page and every other client.
//
// internal/daemon builds a [Server] with [New] and runs it with [Serve] on the
// Unix socket. A request that changes something is validated, planned against
// what the store holds and written as one attempt; the controllers carry it
// out. Whoever wants to see that follows the attempt's event stream.
//
// What must never happen here: a call to an engine or a registry inside a
// request that changes something, a wait for a deploy, a route without a rule,
// a failure that is not a problem document.
package api
