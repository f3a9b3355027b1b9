// Package proxy is the HTTP data plane: it takes requests on the listening
// sockets and sends each to a target of the route table in use.
//
// internal/ingress/control swaps tables in with [Proxy.Swap] and reads
// [Proxy.Report]; internal/ingress/process serves it on the listeners, over
// internal/ingress/h1. Nothing else calls it.
//
// How a request travels: ServeHTTP finds the route (routes.go), connect picks a
// target and a connection or holds the request (pick.go, hold.go), exchange
// sends the head and body (request.go, body.go) and copies the answer
// (response.go), or joins the two connections for an upgrade (tunnel.go).
//
// What must never happen here:
//   - a request goes to a target that a swap has removed: acquiring a target
//     and removing it are decided by one atomic word (target.go);
//   - a request whose bytes may have reached a target is sent again, unless its
//     method is idempotent and its body is still at hand;
//   - a response waits in a buffer while the upstream is silent;
//   - a client is told of a failure that a retry or a moment's hold would spare it;
//   - a goroutine, a held request or a connection without a bound.
package proxy
