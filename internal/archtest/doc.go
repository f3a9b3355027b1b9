// Package archtest holds the rules of the house that a compiler does not: which
// package may import which, what each binary may link, and what no file may
// contain. It has tests alone; rooms_test.go is the plan of the house.
//
// A new package is entered there, in the room it belongs to. A rule that is in
// the way is changed here, on purpose and in sight, and never gone around.
package archtest
