// Package nodehttp is node.Host over HTTP: [Handler] serves one, and [Client] is one that is
// elsewhere. An agent serves its machine's on the connections that it opens for the
// server; nobody listens for it on a network.
//
// It knows nothing of who asks: whoever passes a connection to the handler has seen to
// that. What must never happen here: a request without a bound, an error whose kind is
// lost on the way.
package nodehttp
