// Package docker is the contract between Berth and one Docker engine: what
// Berth asks of it, in Berth's own words.
//
// [Runtime] is the whole surface. The client for a real engine lives in
// internal/docker/engine, the simulated engine and the conformance suite that
// both pass in internal/docker/dockertest. The application controller, the
// network and volume controllers and the log reader call it; nothing above
// them talks to an engine.
//
// What must never happen here: a decision. An implementation performs exactly
// the call it was given, reports what the engine said, and keeps no state that
// outlives the call.
package docker
