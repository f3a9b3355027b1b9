// Package probe asks a container once, from outside, whether it serves: by an
// HTTP request, by the gRPC health protocol or by connecting to a port. Commands
// that probe from inside run through the engine, not here.
//
// The application controller calls [Run] for every candidate that is due and
// shows [Result.Explain] when the answer is no. A probe dials one address only,
// through the dialer it is given, whatever the answer says: a redirect to
// another host is not followed. It keeps no connection.
//
// What must never happen here: a loop, a wait beyond the probe's timeout, a
// verdict about readiness.
package probe
