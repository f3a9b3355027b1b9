// Package script is the program that the conformance suite runs in containers:
// it does one after the other what its arguments say, and what requests to it
// say while it serves.
//
// The suite talks to it in steps; [Run] lists them. In a real container it is
// the program in provider/providertest/script/program, static and FROM scratch;
// provider/memory calls Run itself. So both are the same program to the suite.
//
// What must never happen here: a step that a real container could not take, or
// a dependency outside of the standard library.
package script
