// Package id is the one form of an identifier in Berth: what kind of thing it
// names, when it was made, and nothing that anybody has to look up.
//
// An id is three lower-case letters, the kind, and 26 characters of Crockford's
// base32, a UUID of version 7 (RFC 9562): 29 characters that are safe in a DNS
// label, a file name, a container name and a URL, and that sort by the time of
// their making within a kind.
//
// Everybody who creates or reads a workload, a release or a machine uses it. It
// imports nothing of Berth, and never accepts two spellings of one id: equal
// things are equal strings.
package id
