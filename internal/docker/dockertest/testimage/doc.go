// Package testimage gives tests real images without a registry on the network:
// it compiles the static programs under test/images, wraps each FROM scratch
// and loads it into the engine, or serves it from a registry inside the test.
//
// Tests that need a real engine call it: those of internal/docker/engine and
// the end-to-end tests.
//
// What must never happen here: traffic that leaves the machine.
package testimage
