// Package admintest runs the real operator's API on a Unix socket for tests, over a
// real hosting whose leases run on a provider in memory.
//
// Tests of internal/cli use it, and those of internal/api/backendadmin.
//
// What must never happen here: an answer that a real backend would not give. Time
// stands still for all that is recorded, so that outputs repeat.
package admintest
