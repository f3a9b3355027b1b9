// Package memorytest is a memory.Cluster with a store, a vault and images of the
// suite's program, as a fixture of provider/providertest.
//
// Tests of package memory and of the suite call it, and tests of what stands on a
// provider and wants containers that do as they are told.
//
// What must never happen here: a socket, a file or a process of the machine.
package memorytest
