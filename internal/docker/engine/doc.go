// Package engine is the client for a real Docker engine: docker.Runtime spoken
// over the engine's HTTP API, from API version 1.40 on.
//
// The daemon's wiring makes one [Client] per engine: with the local socket for
// this machine, with a dialer of its own for every other. Everything above
// holds it as a docker.Runtime.
//
// What must never happen here: a retry, a decision, a forced removal, or an
// error that does not say what was tried on what. An engine's failure leaves
// this package as one of the contract's sentinels whenever it is one of them.
package engine
