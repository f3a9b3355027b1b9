// Command zerodrop changes a service again and again under load, kills the
// control plane in the middle of it, and counts every request that fails.
//
// It runs a Berth of its own on the real Docker engine: berthd and berth-node
// built from this checkout, a data directory, a network pool and a port that
// nobody else has. A service of test/images/web is deployed blue-green and
// changed through the API, each change to a version that no neighbour has, so
// that the answers say which release gave them. Plain requests come at a
// constant rate for the whole time, and slow requests, event streams and
// WebSockets are open beside them. `berthd server` alone gets SIGKILL, at moments
// of a deploy that are drawn from a seed, and is started again. Requests fail
// as test/load says, which is never milder than that a transport error, a status
// of 500 or more, a cut body or an answer that is late has failed; an event stream or a WebSocket fails as well when it ended
// although its release was not being replaced.
//
// `make e2e-zero-drop` runs it; the package's test is the short form. It ends
// with the line
//
//	zero-drop: <requests> requests at <rate>/s, <changes> changes, <kills> kills, p99 <ms> ms, <failed> failed
//
// and with 1 when anything failed, or when rate, changes or kills stayed below
// what is asked for. With -crashes it kills replicas instead, and changes nothing:
// then a GET must never fail.
//
// What must never happen in it: a signal to the data plane or to a container
// while requests are counted (but for -crashes), an end that leaves containers,
// networks, images or processes behind, a failure that is not told.
package main
