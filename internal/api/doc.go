// Package api is Berth's HTTP API: the one way in for the command line, the
// page and every other client.
//
// internal/daemon builds a [Server] with [New] and runs it with [Serve] on the
// Unix socket. A request that changes something is validated, planned against
// what the store holds and written as one attempt; the controllers carry it
// out. Whoever wants to see that follows the attempt's event stream.
//
// Two kinds of request look at the engine: those for the containers there are,
// and the one that runs a command in a container, which is a WebSocket for as long
// as the command runs.
//
// What must never happen here: a call to an engine or a registry inside a
// request that changes an app, a wait for a deploy, a route without a rule,
// a failure that is not a problem document, the value of a secret in an answer,
// an error or a log.
package api
