// Package store is the control plane's memory: desired services, attempts,
// releases, active releases, conditions, deploy traces, container addresses
// and tombstones.
//
// This package holds the types and the [Store] interface; the SQLite
// implementation is in internal/store/sqlite, the conformance suite that every
// implementation passes in internal/store/storetest. The API, the controllers
// and the daemon's wiring use it.
//
// What must never happen here: a call to an engine, a decision about a rollout,
// a half-written change of several rows.
package store
