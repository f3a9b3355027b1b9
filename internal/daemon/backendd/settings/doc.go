// Package settings reads what an operator decides about a backend from a YAML file,
// for `berthd backend`.
//
// [Load] reads the file and those that it names, whose names begin at its folder, and
// reports everything that is wrong with its line. What it returns was checked: the
// wiring makes a backend of it and decides nothing.
//
// What must never happen here: a connection, a key that is passed over, a secret in an
// error, a secret taken from a file that others can read, a reader of the environment.
package settings
