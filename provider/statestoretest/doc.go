// Package statestoretest holds an implementation of provider.StateStore to its
// contract. An author calls Run from a test of the store; the cases are
// exported through it alone. Nothing in it may depend on how a store works inside.
package statestoretest
