// Package wire holds the types of Berth's HTTP API: what the server writes and
// what every client reads, JSON field by JSON field.
//
// internal/api, internal/client and internal/cli use it, and so do the packages
// that fill in parts of an answer. The JSON of `berth -o json` is made of the
// same types, so a field that is here stays here.
//
// What must never happen here: an import of anything but the standard library,
// behaviour beyond formatting, a type that only one side of the wire knows.
package wire
