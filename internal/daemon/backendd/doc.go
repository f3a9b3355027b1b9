// Package backendd is where a backend is wired: store, Docker provider, hosting,
// callbacks, engine, server.
//
// `berthd backend` calls [Run]. A backend has a data directory of its own, which one
// process at a time holds, and marks what it makes on the engine with the id that is
// kept there: two backends on one engine do not see each other, nor does a control
// plane. It may be killed at any time. Leases run on, and the next one that is started
// on the directory goes on where the rows say.
//
// What must never happen here: a rule of any floor, which this package only connects;
// a lease that is taken down because the process ends.
package backendd
