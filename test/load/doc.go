// Package load puts traffic on one routed service and counts every request
// that fails, while somebody else changes the service.
//
// Plain requests come at a constant rate, whether or not earlier ones were
// answered; slow requests, event streams and WebSockets are held open beside
// them and opened again when they end as they may. A request has failed when it
// met a transport error (one that the standard transport would hide by sending
// again is one too), was answered with anything but the 200 that the test
// image would have given, had its body cut, or was not answered in time; an
// event stream when it did not end cleanly; a WebSocket when it ended with
// another close code than 1001 or 1012, or gave back what was not sent.
//
// The command test/load/berth-load, `make up` and the zero-drop test call it.
// It expects test/images/web behind the address. It must never retry: what a
// user would have seen fail is a failure.
package load
