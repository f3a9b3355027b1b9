// Package column is how values are kept in SQLite, the same in every database of ours. The
// store and the machines' cache call it.
//
// What must never happen here: a change of how something is kept, without a migration of
// every database there is.
package column
