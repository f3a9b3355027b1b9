// Package store keeps the data plane's route tables on disk, one file per
// owner, so that a data plane that starts alone serves what it served before, and
// what it takes the agents of nodes with, so that it has them back.
//
// The control socket calls it before it swaps a table in and acknowledges it.
//
// What must never happen here: a file that a crash leaves half written, or a
// Save that returns nil before the table would survive a power failure. A save
// writes a temporary file, syncs it, renames it over the old one and syncs the
// directory; each step is a call on [FS], so that tests can stop between any two.
package store
