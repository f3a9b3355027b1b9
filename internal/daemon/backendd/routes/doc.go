// Package routes keeps the data plane's table of the backend equal to the routes of its
// leases.
//
// The [Pusher] is the Router of a hosting: it is told that the routes are others, builds
// one table of all, gives it a number that it stores first, and pushes it until the
// running data plane has it. Where another owner has a host, the table goes without that
// host, and whoever asks is told so. `berthd backend` runs it, with a worker of its own:
// leases that wait for an engine do not keep routes from following.
//
// What must never happen here: a choice of a target, a number that is given to two
// tables, one host that keeps the other routes from being pushed.
package routes
