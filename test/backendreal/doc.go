// Package backendreal holds the backend that hosts leases to the conformance suite on
// a real engine: requests go signed over HTTP, and callbacks come back so.
//
// Only its test is here. What must never happen in it: a container, a network or a
// volume left on the engine.
package backendreal
