// Package localdb is the cache of what the records of machines, their provider and
// their agents say, in one SQLite file, for questions that would otherwise read
// every record.
//
// [Open] brings the file up to date, or begins it anew where it cannot be used.
// Package instances fills it from the object store and the provider and asks it.
// Nothing in it is a truth: the file may be deleted at any time, and costs a
// rebuild then.
//
// What must never happen here: an instance counted for another tenant's group, a
// registration taken back, a field that is kept elsewhere and lost here, a file
// that keeps the program from starting, an answer from half a file.
package localdb
