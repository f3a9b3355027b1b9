// Package sqlite keeps the control plane's memory in one SQLite database file.
//
// The daemon's wiring calls [Open] once and hands the [Store] to the API and
// the controllers, which know it as store.Store. All writes go through one
// connection: closures of concurrent callers are committed together, and each
// caller returns once the commit that holds its change is on disk. Reads go
// through a small pool of read-only connections and always see the newest
// commit.
//
// What must never happen here: two daemons on one data directory, an answer
// before the commit is durable, a wait inside a transaction.
package sqlite
