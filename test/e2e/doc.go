// Package e2e holds tests of Berth as people meet it: the built programs, a
// real Docker engine, app files, the command line and requests by name.
//
// `go test` runs it; without an engine it skips and says why. Every test has a
// control plane and a data plane of its own, with a data directory, sockets,
// ports, a network prefix and a part of an address pool that no other test
// uses, and removes what its Berth made.
//
// What must never happen here: a container, network or volume that this test
// run did not make is touched, or an engine is stopped that others use.
package e2e
