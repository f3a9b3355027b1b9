// Command zerodrop changes a service again and again under load, kills the
// control plane in the middle of it, and counts every request that fails.
//
// It runs a Berth of its own on the real Docker engine: berthd and berth-node
// built from this checkout, a data directory, a network pool and a port that
// nobody else has. A service of test/images/web is deployed and then changed
// through the API, by the kinds of change in changes.go: other images and
// settings, blue-green and rolling, restarts, more and fewer replicas, rollbacks,
// and groups, in which no request is answered without the sidecar. Plain
// requests come at a constant rate for the whole time, and slow requests, event
// streams and WebSockets are open beside them. `berthd server` alone gets
// SIGKILL, at moments of a deploy that are drawn from a seed, and is started
// again.
//
// Requests fail as test/load says, which is never milder than that a transport
// error, a status of 500 or more, a cut body or an answer that is late has
// failed; an event stream or a WebSocket fails as well when it ended although its
// replica was not being replaced. Every answer names its version and its
// container: once a change has succeeded, every replica of it has to answer, and
// nobody else may.
//
// `make e2e-zero-drop` runs it; the package's test is the short form. It prints
// how often each kind of change was made, and ends with the line
//
//	zero-drop: <requests> requests at <rate>/s, <changes> changes, <kills> kills, p99 <ms> ms, <failed> failed
//
// and with 1 when anything failed, when rate, changes or kills stayed below what
// is asked for, or when a kind of change did not happen. With -crashes it kills replicas instead, and changes nothing:
// then a GET must never fail.
//
// What must never happen in it: a signal to the data plane or to a container
// while requests are counted (but for -crashes), an end that leaves containers,
// networks, images or processes behind, a failure that is not told.
package main
